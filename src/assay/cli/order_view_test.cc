#include "assay/cli/order_view.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "support/life_parties.h"

namespace assay::cli {
namespace {

OrderedJson SampleOf(std::uint64_t lease, std::uint64_t step) {
  return {{"lease", lease}, {"phase", "train"}, {"step", step}, {"steps", 100U}};
}

TEST(OrderView, ForetellsOnlyWhileSamplesCome) {
  OrderView view(stderr, ProgressMode::kQuiet);
  EXPECT_EQ(view.Line(0), "");
  view.Sample(SampleOf(1, 10), 100);
  view.Sample(SampleOf(1, 20), 110);
  EXPECT_EQ(view.Line(111), "lease 1 train 20/100 20% ETA 1m20s");
  EXPECT_EQ(view.Line(124), "lease 1 train 20/100 20% ETA 1m20s");
  EXPECT_EQ(view.Line(140), "lease 1 train 20/100 20% no news for 30s");
  view.Sample(SampleOf(1, 30), 141);
  EXPECT_NE(view.Line(141).find("ETA"), std::string::npos) << view.Line(141);
}

void Add(life::Life& life, life::Event event) {
  const Status added = life.Apply({.n = life.size(), .at = 1'700'000'000 + life.size(), .event = std::move(event)});
  ASSERT_TRUE(added) << added.error().message;
}

TEST(OrderView, SaysForWhomAnOrderWaits) {
  life::Life life;
  Add(life, life::Submitted{testkit::OrderOf({.replicas = 2})});
  EXPECT_EQ(WaitsFor(life), "waiting for workers: this order needs 2 runs, by keys that have had no lease in it");
  Add(life, life::Leased{.lease = 1, .worker = testkit::WorkerKey(1)});
  EXPECT_EQ(WaitsFor(life), "waiting for a worker: this order needs one more run, by a key that has had no lease in it");
  Add(life, life::Leased{.lease = 2, .worker = testkit::WorkerKey(2)});
  EXPECT_EQ(WaitsFor(life), "");

  life::Life audited;
  Add(audited, life::Submitted{testkit::OrderOf({.replicas = 1, .audit = 10})});
  Add(audited, life::Leased{.lease = 1, .worker = testkit::WorkerKey(1)});
  Add(audited, life::Received{.lease = 1, .receipt = testkit::ReceiptFile(1, 0), .proof = {}, .model = 100});
  EXPECT_EQ(WaitsFor(audited),
            "waiting for a worker: this order needs an audit of the run of lease 1, by a key that has had no lease in it");
}

TEST(OrderView, NamesTheConvictedLeaseOnce) {
  life::Life life;
  Add(life, life::Submitted{testkit::OrderOf({.replicas = 2})});
  for (const int worker : {1, 2}) {
    Add(life, life::Leased{.lease = worker, .worker = testkit::WorkerKey(worker)});
    Add(life, life::Received{.lease = worker, .receipt = testkit::ReceiptFile(worker, worker), .proof = {}, .model = 100});
  }
  const life::Entry entry{.n = life.size(),
                          .at = 0,
                          .event = life::Judged{.among = {1, 2},
                                                .evidence = {},
                                                .convicted = {2},
                                                .silent = {},
                                                .decided = true,
                                                .words = "lease 2: step 10: node 3"}};
  EXPECT_NE(Sentence(entry, life).find("(lease 2): step 10: node 3"), std::string::npos) << Sentence(entry, life);
}

}  // namespace
}  // namespace assay::cli
