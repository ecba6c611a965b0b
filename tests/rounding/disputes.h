// Disputes: what tests about runs of rounded jobs that contradict each other share. They are played by the law alone, with either run on either side of the table.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "forger.h"
#include "trial.h"

namespace assay::roundtest {

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
