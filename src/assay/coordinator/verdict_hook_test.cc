#include "assay/coordinator/verdict_hook.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "assay/base/file.h"
#include "assay/life/fields.h"
#include "support/test_book.h"

namespace assay::coordinator {
namespace {

using Hook = BookTest;
INSTANTIATE_TEST_SUITE_P(Engines, Hook, ::testing::ValuesIn(store::Engines(true)), store::EngineName);

std::string Text(const std::string& path) {
  const auto bytes = ReadFile(path, 1 << 20);
  return bytes ? std::string(bytes->begin(), bytes->end()) : "";
}

template <class Condition>
bool Soon(Condition condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(Command, IsGivenItsInputAndMustEndWell) {
  const testkit::Scratch scratch;
  const Status done = RunCommand("cat > " + (scratch / "out"), "verdict\n", 10'000);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(Text(scratch / "out"), "verdict\n");
  EXPECT_TRUE(RunCommand("true", std::string(1 << 20, 'x'), 10'000)) << "input that is not read harms nobody";
  EXPECT_FALSE(RunCommand("exit 3", "", 10'000));
  EXPECT_FALSE(RunCommand("kill -9 $$", "", 10'000));
}

TEST(Command, ThatTakesTooLongIsKilledWithWhatItStarted) {
  const testkit::Scratch scratch;
  EXPECT_FALSE(RunCommand("(sleep 1; touch " + (scratch / "alive") + ") & sleep 30", "", 100));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(Exists(scratch / "alive"));
}

TEST_P(Hook, IsToldOfEveryVerdictUntilItEndsWell) {
  const auto book = MakeBook(*database_, true);
  AddWorker(1);
  AddWorker(2);
  const std::string order = Submit({.replicas = 2});
  for (const int worker : {1, 2}) {
    const auto next = book->Next(testkit::WorkerKey(worker));
    ASSERT_TRUE(next && *next);
    Good(book->Receive(testkit::WorkerKey(worker), order,
                       {.lease = (*next)->lease, .receipt = testkit::ReceiptFile(worker, 0), .proof = {}, .model = 100}));
  }
  Bell bell;
  const std::string seen = scratch_ / "seen", tries = scratch_ / "tries";
  {
    // Fails the first time.
    const std::string command = "echo x >> " + tries + "; test $(wc -l < " + tries + ") -gt 1 && cat >> " + seen;
    const VerdictHook hook(*database_, *book, bell, {.command = command, .retry_ms = 10, .look_ms = 20});
    ASSERT_TRUE(Soon([&] { return !Text(seen).empty(); }));
  }
  EXPECT_EQ(Text(tries), "x\nx\n");
  const life::Json verdict = life::ParseObject(Text(seen).substr(0, Text(seen).size() - 1));
  EXPECT_EQ(life::TextOf(verdict, "order"), order);
  EXPECT_EQ(life::TextOf(verdict, "verdict"), "verified");
  EXPECT_EQ(life::TextOf(verdict, "account"), "client");
  EXPECT_EQ(life::TextOf(verdict, "provider"), testkit::WorkerKey(1));
  EXPECT_EQ(verdict["held"].size(), 2u);
  EXPECT_EQ(verdict["convicted"].size(), 0u);
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM verdicts_due"), 0) << "it is told once where all goes well";
}

}  // namespace
}  // namespace assay::coordinator
