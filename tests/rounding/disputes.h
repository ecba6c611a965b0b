// Disputes: what tests about runs of rounded jobs that contradict each other share. They are played by the law alone, with either run on either side of the table.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "assay/dispute/evidence.h"
#include "assay/dispute/run_account.h"
#include "bench.h"
#include "dispute/kept_evidence.h"
#include "dispute/play.h"
#include "forger.h"

namespace assay::roundtest {

using dispute::Played;
using dispute::RunAccount;

class Disputes : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
  }
  RunDirectory Run(const std::string& name) { return RunDirectory::Open(scratch_ / name).value(); }

  // What is found of who is guilty (0: the first), on either side of the table. None where both claim the same.
  std::optional<dispute::Finding> Try(const PreparedJob& prepared, RunAccount& first, RunAccount& second, std::size_t guilty) {
    RunAccount* const parties[] = {&first, &second};
    dispute::Finding found;
    for (const std::size_t a : {std::size_t{0}, std::size_t{1}}) {
      const std::size_t b = 1 - a;
      const Played played = PlayThem(prepared, *parties[a], *parties[b]);
      if (std::holds_alternative<dispute::Agreement>(played.outcome.next) && Same(first, second)) return std::nullopt;
      const dispute::Finding* finding = played.finding();
      const auto* undecided = std::get_if<dispute::Undecided>(&played.outcome.next);
      EXPECT_NE(finding, nullptr) << (undecided != nullptr ? undecided->why : "no verdict");
      if (finding == nullptr) return found;
      EXPECT_EQ(finding->strikes(dispute::Party::kA), a == guilty) << finding->reason;
      EXPECT_EQ(finding->strikes(dispute::Party::kB), b == guilty) << finding->reason;
      found = *finding;
    }
    return found;
  }
  static Played PlayThem(const PreparedJob& prepared, RunAccount& a, RunAccount& b) {
    return PlayThem(prepared, a, b, Truthful(a), Truthful(b));
  }
  // The same with answers of their own. Evidence of what is found, signed by both, must lead to it again.
  static Played PlayThem(const PreparedJob& prepared, RunAccount& a, RunAccount& b, const dispute::Speaker& say_a,
                         const dispute::Speaker& say_b) {
    const RunContent content = ContentOf(prepared);
    const dispute::Terms terms = dispute::Terms::Make(content.job, content.program).value();
    const dispute::Claim claims[] = {dispute::OpenClaim(a.receipt(), "receipt").value(),
                                     dispute::OpenClaim(b.receipt(), "receipt").value()};
    const SigningKey keys[] = {KeyOfSigner(claims[0]), KeyOfSigner(claims[1])};
    dispute::Witness witnesses[] = {
        {.job = &content.job, .program = &content.program, .receipt = &a.receipt(), .key = &keys[0]},
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
  static dispute::Speaker Truthful(RunAccount& account) {
    return [&account](const dispute::Question& question) { return dispute::AnswerFrom(account, question); };
  }
  // Tests sign with keys of small numbers.
  static SigningKey KeyOfSigner(const dispute::Claim& claim) {
    for (std::uint8_t first = 0; first < 64; ++first) {
      if (KeyOf(first).verify_key() == claim.signer) return KeyOf(first);
    }
    ADD_FAILURE() << "signed by no key of these tests";
    return KeyOf();
  }
  static bool Same(const RunAccount& first, const RunAccount& second) {
    const auto end = [](const RunAccount& account) {
      return dispute::OpenClaim(account.receipt(), "receipt").value().receipt.final_state_root;
    };
    return end(first) == end(second);
  }
  static void ExpectAt(const dispute::Finding& finding, const Place& place) {
    EXPECT_EQ(finding.cause, dispute::Cause::kOutput) << finding.reason;
    EXPECT_EQ(finding.step, 2) << finding.reason;
    EXPECT_EQ(finding.node, static_cast<std::uint32_t>(place.node)) << finding.reason;
    EXPECT_EQ(finding.element, place.element) << finding.reason;
    EXPECT_FALSE(finding.truth.empty());
  }

  Scratch scratch_;
};

}  // namespace assay::roundtest
