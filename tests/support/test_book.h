// A book on a database of one test's own, with made-up clients and workers (support/life_parties.h), for tests of what stands on it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assay/coordinator/book.h"
#include "assay/coordinator/schema.h"
#include "assay/seal/announcement.h"
#include "support/engines.h"
#include "support/fake_clock.h"
#include "support/life_parties.h"

namespace assay::coordinator {

class BookTest : public store::EngineTest {
 protected:
  static constexpr std::int64_t kLeaseMs = 60'000;

  void SetUp() override {
    EngineTest::SetUp();
    const auto migrated = store::Migrate(*database_, Schema());
    ASSERT_TRUE(migrated) << migrated.error().message;
    book_ = MakeBook(*database_);
    Good(book_->AddAccount("client"));
  }

  std::unique_ptr<Book> MakeBook(store::Database& database, bool announce = false, bool distinct_accounts = false) {
    return std::make_unique<Book>(database, key_,
                                  BookOptions{.lease_ms = kLeaseMs,
                                              .clock = clock_,
                                              .draw = [this] { return testkit::DigestOf("draw" + std::to_string(++draws_)); },
                                              .distinct_accounts = distinct_accounts,
                                              .announce_verdicts = announce});
  }

  static void Good(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

  // A worker of an account of its own.
  void AddWorker(int number, const std::string& role = "provider") {
    const std::string name = "worker" + std::to_string(number);
    const Announcement announced{.recipient = testkit::RecipientOf(name),
                                 .purpose = role == "auditor" ? SealPurpose::kAuditor : SealPurpose::kWorker,
                                 .made = 1};
    Good(book_->AddAccount("account of " + name));
    Good(book_->AddWorker("account of " + name, testkit::WorkerKey(number),
                          {.hardware = "{}", .announcement = SignAnnouncement(announced, testkit::KeyOf(name)), .role = role}));
  }
  std::string Submit(const life::Policy& policy, const std::vector<int>& sealed = {}) {
    const auto id = book_->Submit("client", testkit::OrderOf(policy, "client", sealed));
    EXPECT_TRUE(id) << id.error().message;
    return id.value_or("");
  }
  // The worker's next lease; 0: none.
  life::LeaseNumber Lease(int worker) {
    const auto next = book_->Next(testkit::WorkerKey(worker));
    EXPECT_TRUE(next) << next.error().message;
    return next && *next ? (*next)->lease : 0;
  }
  life::LeaseNumber Run(int worker, const std::string& order, int claim) {
    const life::LeaseNumber lease = Lease(worker);
    Good(book_->Receive(testkit::WorkerKey(worker), order,
                        {.lease = lease, .receipt = testkit::ReceiptFile(worker, claim), .proof = {}, .model = 100}));
    return lease;
  }
  // Two runs that differ, by workers 1 and 2.
  std::string Disputed(const std::vector<int>& sealed = {}) {
    AddWorker(1);
    AddWorker(2);
    const std::string order = Submit({.replicas = 2}, sealed);
    Run(1, order, 0);
    Run(2, order, 1);
    return order;
  }
  std::string PointOfWorker(int worker) { return *PointOf(testkit::WorkerKey(worker)); }
  std::string VerdictOf(const std::string& order) {
    const auto written = book_->Look(order);
    EXPECT_TRUE(written) << written.error().message;
    return (*written)->life.decision() ? std::string(life::Name((*written)->life.decision()->verdict)) : "";
  }

  std::shared_ptr<testkit::FakeClock> clock_ = std::make_shared<testkit::FakeClock>();
  const SigningKey key_ = testkit::KeyOf("coordinator");
  std::unique_ptr<Book> book_;
  int draws_ = 0;
};

}  // namespace assay::coordinator
