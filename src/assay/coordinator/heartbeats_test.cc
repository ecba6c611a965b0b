#include "assay/coordinator/heartbeats.h"

#include <gtest/gtest.h>

#include "support/test_book.h"

namespace assay::coordinator {
namespace {

class Signs : public BookTest {
 protected:
  std::int64_t Seen() {
    const auto workers = book_->Workers(true);
    EXPECT_TRUE(workers) << workers.error().message;
    return workers && workers->size() == 1 ? workers->front().seen_ms : 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, Signs, ::testing::ValuesIn(store::Engines(true)), store::EngineName);

TEST_P(Signs, AWorkerIsSeenWheneverItPollsAndThatIsWrittenNowAndThen) {
  AddWorker(1);
  Heartbeats heartbeats(*book_, clock_);
  const std::string point = PointOfWorker(1);
  const std::int64_t registered = Seen();
  heartbeats.See(point, true);
  clock_->Pass(Heartbeats::kSeenMs - 1);
  heartbeats.See(point, false);
  Good(heartbeats.Flush());
  EXPECT_EQ(Seen(), registered) << "too soon to be written again";
  clock_->Pass(1);
  heartbeats.See(point, false);
  EXPECT_EQ(Seen(), registered) << "gathered until the next flush";
  Good(heartbeats.Flush());
  EXPECT_EQ(Seen(), registered + Heartbeats::kSeenMs);
  clock_->Pass(10);
  heartbeats.See(point, false);
  Good(heartbeats.Flush());
  EXPECT_EQ(Seen(), registered + Heartbeats::kSeenMs);
  // A coordinator that has been started anew does not know when that was written.
  Heartbeats after(*book_, clock_);
  after.See(point, false);
  Good(after.Flush());
  EXPECT_EQ(Seen(), registered + Heartbeats::kSeenMs + 10);
}

}  // namespace
}  // namespace assay::coordinator
