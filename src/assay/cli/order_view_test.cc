#include "assay/cli/order_view.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "assay/life/wanted.h"
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
  EXPECT_EQ(view.Line(119), "lease 1 train 20/100 20% ETA 1m20s");
  EXPECT_EQ(view.Line(120), "lease 1 train 20/100 20% no news for 10s");
  EXPECT_EQ(view.Line(140), "lease 1 train 20/100 20% no news for 30s");
  view.Sample(SampleOf(1, 30), 141);
  EXPECT_NE(view.Line(141).find("ETA"), std::string::npos) << view.Line(141);
}

// What a view writes on.
struct Paper {
  std::FILE* file = std::tmpfile();
  Paper() = default;
  Paper(const Paper&) = delete;
  Paper& operator=(const Paper&) = delete;
  ~Paper() { std::fclose(file); }
  std::string Text() const {
    std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    return text;
  }
};

TEST(OrderView, SaysOnceWhoFellSilentWhereThereIsNoBar) {
  const Paper paper;
  OrderView view(paper.file, ProgressMode::kLines);
  view.Sample(SampleOf(1, 10), 100);
  view.Tick(109);
  view.Tick(111);
  view.Tick(130);
  EXPECT_EQ(paper.Text(), "lease 1: no news for 11s\n");
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

TEST(OrderView, SaysWhyNobodyKeepsALease) {
  const Paper paper;
  OrderView view(paper.file, ProgressMode::kLines);
  life::Life life;
  Add(life, life::Submitted{testkit::OrderOf({.replicas = 2})});
  for (const int worker : {1, 2}) {
    Add(life, life::Leased{.lease = worker, .worker = testkit::WorkerKey(worker)});
    const life::Released released{.lease = worker,
                                  .why = life::Ending::kGivenBack,
                                  .words = fmt::format("memory: the work takes 2.00 GiB, and {} GiB are free here", worker)};
    Add(life, released);
    view.Entry({.n = life.size(), .at = 0, .event = released}, life, 100);
  }
  view.Tick(110);
  const std::string said = paper.Text();
  EXPECT_NE(said.find("waiting for workers: this order needs 2 more runs, by keys that have had no lease in it; 2 leases were "
                      "given back: memory: the work takes 2.00 GiB, and 2 GiB are free here\n"),
            std::string::npos)
      << said;
}

TEST(OrderView, CutsNoEscapeInTwo) {
  for (int letters = 294; letters < 302; ++letters) {
    life::Life life;
    Add(life, life::Submitted{testkit::OrderOf({.replicas = 2})});
    Add(life, life::Leased{.lease = 1, .worker = testkit::WorkerKey(1)});
    const std::string words = std::string(static_cast<std::size_t>(letters), 'a') + "é";
    const life::Entry entry{
        .n = life.size(), .at = 0, .event = life::Released{.lease = 1, .why = life::Ending::kGivenBack, .words = words}};
    std::string said = Sentence(entry, life);
    said.erase(0, said.find(std::string(100, 'a')));
    const bool whole = said.ends_with("a…") || said.ends_with("a\\xc3…") || said.ends_with("a\\xc3\\xa9");
    EXPECT_TRUE(whole) << letters << ": " << said;

    Add(life, entry.event);
    const Paper paper;
    OrderView view(paper.file, ProgressMode::kLines);
    view.Entry(entry, life, 100);
    view.Tick(110);
    const std::string waits = paper.Text();
    EXPECT_NE(waits.find("given back: " + said + "\n"), std::string::npos) << letters << ": " << waits;
  }
}

TEST(OrderView, ShowsWhatIsDeliveredAndWarnsWhereItIsOfNoUse) {
  const auto decided = [](std::uint32_t loss_bits) {
    life::Life life;
    Add(life, life::Submitted{testkit::OrderOf({.replicas = 2})});
    for (const int worker : {1, 2}) {
      Receipt receipt = testkit::ReceiptOf(worker, 0);
      receipt.loss_bits = loss_bits;
      Add(life, life::Leased{.lease = worker, .worker = testkit::WorkerKey(worker)});
      Add(life, life::Received{.lease = worker,
                               .receipt = SignReceipt(receipt, testkit::KeyOf("worker" + std::to_string(worker))),
                               .proof = {},
                               .model = 100});
    }
    Add(life, *life::WantedBy(life).decision);
    return life;
  };
  const life::Life good = decided(0x3f800000);
  EXPECT_NE(OutcomeText(good).find("result      steps 10, last loss 1.000000\n"), std::string::npos) << OutcomeText(good);
  EXPECT_EQ(OutcomeText(good).find("warning"), std::string::npos);
  EXPECT_EQ(OutcomeJson(good)["loss"], 1.0);
  EXPECT_EQ(OutcomeJson(good)["steps"], 10);
  const life::Life bad = decided(0x7fc00000);
  EXPECT_NE(OutcomeText(bad).find("last loss nan\nwarning     the last loss is not a finite number"), std::string::npos)
      << OutcomeText(bad);
  EXPECT_TRUE(OutcomeJson(bad)["loss"].is_null());

  life::Life open;
  Add(open, life::Submitted{testkit::OrderOf({.replicas = 2})});
  EXPECT_EQ(OutcomeText(open).find("result"), std::string::npos);
  EXPECT_TRUE(OutcomeJson(open)["steps"].is_null());
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
