// A dispute of two runs of a rounded job, played by the law alone.
#pragma once

#include <gtest/gtest.h>

#include "assay/dispute/evidence.h"
#include "assay/dispute/run_account.h"
#include "bench.h"
#include "dispute/kept_evidence.h"
#include "dispute/play.h"

namespace assay::roundtest {

using dispute::Played;
using dispute::RunAccount;

// Tests sign with keys of small numbers.
inline SigningKey KeyOfSigner(const dispute::Claim& claim) {
  for (std::uint8_t first = 0; first < 64; ++first) {
    if (KeyOf(first).verify_key() == claim.signer) return KeyOf(first);
  }
  ADD_FAILURE() << "signed by no key of these tests";
  return KeyOf();
}

inline dispute::Speaker Truthful(RunAccount& account) {
  return [&account](const dispute::Question& question) { return dispute::AnswerFrom(account, question); };
}

// A dispute of two accounts by the law alone. Evidence of what is found, signed by both, must be valid; it is kept where somebody asks for it
// (dispute/kept_evidence.h).
inline Played PlayThem(const PreparedJob& prepared, RunAccount& a, RunAccount& b, const dispute::Speaker& say_a,
                       const dispute::Speaker& say_b) {
  const RunContent content = ContentOf(prepared);
  const dispute::Terms terms = dispute::Terms::Make(content.job, content.program).value();
  const dispute::Claim claims[] = {dispute::OpenClaim(a.receipt(), "receipt").value(),
                                   dispute::OpenClaim(b.receipt(), "receipt").value()};
  const SigningKey keys[] = {KeyOfSigner(claims[0]), KeyOfSigner(claims[1])};
  dispute::Witness witnesses[] = {{.job = &content.job, .program = &content.program, .receipt = &a.receipt(), .key = &keys[0]},
                                  {.job = &content.job, .program = &content.program, .receipt = &b.receipt(), .key = &keys[1]}};
  const auto noted = [](const dispute::Speaker& say, dispute::Witness& witness) {
    return [&](const dispute::Question& question) {
      Result<Bytes> body = say(question);
      if (body) witness.said.emplace_back(question, *body);
      return body;
    };
  };
  const Played played = dispute::Play(terms, claims[0], claims[1], noted(say_a, witnesses[0]), noted(say_b, witnesses[1]));
  // Two claims of one key about a rounded job do not take part in one dispute.
  if (const dispute::Finding* finding = played.finding(); finding != nullptr && claims[0].signer != claims[1].signer) {
    const dispute::Evidence evidence = dispute::EvidenceOfTrial(witnesses[0], witnesses[1], *finding);
    const auto judgement = dispute::Judge(evidence);
    EXPECT_TRUE(judgement) << (judgement ? finding->reason : judgement.error().message);
    dispute::KeepEvidence(evidence);
  }
  return played;
}

// Both say what their runs hold.
inline Played PlayThem(const PreparedJob& prepared, RunAccount& a, RunAccount& b) {
  return PlayThem(prepared, a, b, Truthful(a), Truthful(b));
}

}  // namespace assay::roundtest
