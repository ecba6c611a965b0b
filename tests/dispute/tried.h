// A trial between two runs in memory. Its evidence is judged again, and kept for other judges.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "assay/dispute/proceedings.h"
#include "assay/dispute/retelling.h"
#include "kept_evidence.h"
#include "memory_run.h"
#include "play.h"

namespace assay::dispute {

inline const SigningKey& HonestKey() {
  static const SigningKey key("honest", {1});
  return key;
}
inline const SigningKey& LiarKey() {
  static const SigningKey key("liar", {2});
  return key;
}

inline Claim ClaimOf(const Account& account) {
  auto claim = OpenClaim(account.receipt(), "receipt");
  EXPECT_TRUE(claim) << claim.error().message;
  return *claim;
}

// Plays a trial; its evidence, signed by both, must lead to the same finding again.
inline Played Tried(MemoryRun& a, const SigningKey& key_a, MemoryRun& b, const SigningKey& key_b) {
  Witness witnesses[] = {{.job = &a.job(), .program = &a.program(), .receipt = &a.receipt(), .key = &key_a},
                         {.job = &b.job(), .program = &b.program(), .receipt = &b.receipt(), .key = &key_b}};
  const auto say = [](MemoryRun& run, Witness& witness) {
    return [&](const Question& question) {
      Result<Bytes> body = run.Answer(question);
      if (body) witness.said.emplace_back(question, *body);
      return body;
    };
  };
  Played played = Play(a.terms(), ClaimOf(a), ClaimOf(b), say(a, witnesses[0]), say(b, witnesses[1]));
  const auto fits = [](const auto& said) { return said.second.size() < kMaxBodyBytes; };  // others are dropped unread
  const Finding* finding = played.finding();
  if (finding != nullptr && std::ranges::all_of(witnesses[0].said, fits) && std::ranges::all_of(witnesses[1].said, fits)) {
    const Evidence evidence = EvidenceOfTrial(witnesses[0], witnesses[1], *finding);
    const Result<Judgement> judgement = Judge(evidence);
    EXPECT_TRUE(judgement && judgement->convicts) << (judgement ? finding->reason : judgement.error().message);
    KeepEvidence(evidence);
    // Told again, it comes by as many rounds to the same node.
    const auto told = Retell(evidence);
    EXPECT_TRUE(told);
    if (told && judgement) {
      EXPECT_EQ(told->rounds.size(), played.rounds) << finding->reason;
      EXPECT_EQ(told->node ? std::optional<std::uint32_t>(told->node->number) : std::nullopt, finding->node) << finding->reason;
      EXPECT_FALSE(told->shortened);
    }
  }
  return played;
}

}  // namespace assay::dispute
