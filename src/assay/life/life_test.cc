#include "assay/life/life.h"

#include <gtest/gtest.h>

#include "assay/life/ruling.h"
#include "assay/life/wanted.h"
#include "support/life_parties.h"

namespace assay::life {
namespace {

using testkit::DigestOf;
using testkit::KeyOf;
using testkit::OrderOf;
using testkit::ReceiptFile;
using testkit::Sampled;
using testkit::WorkerKey;

// A life that is written entry by entry; each goes through its text.
class Story {
 public:
  explicit Story(const Policy& policy, const std::vector<int>& sealed = {}) {
    Add(Submitted{OrderOf(policy, "client", sealed)});
  }

  Status Try(Event event) {
    const Entry entry{.n = life.size(), .at = 1'700'000'000 + life.size(), .event = std::move(event)};
    const auto read = ParseEntry(ToText(entry), "entry");
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, entry);
    return life.Apply(*read);
  }
  void Add(Event event) {
    const Status added = Try(std::move(event));
    ASSERT_TRUE(added) << added.error().message;
  }
  LeaseNumber Lease(int worker, LeaseNumber challenge = 0) {
    const LeaseNumber number = life.next_lease();
    Add(Leased{.lease = number, .worker = WorkerKey(worker), .of = challenge});
    return number;
  }
  LeaseNumber Run(int worker, int claim, LeaseNumber challenge = 0) {
    const LeaseNumber number = Lease(worker, challenge);
    Add(Received{.lease = number, .receipt = ReceiptFile(worker, claim), .proof = {}, .model = 100});
    return number;
  }
  // Leases an audit, and gives the report that would end it.
  Report LeaseAudit(int worker, LeaseNumber of, Finding finding) {
    const LeaseNumber number = life.next_lease();
    const std::string nonce = DigestOf("nonce" + std::to_string(number)).hex();
    Add(Leased{.lease = number, .role = Role::kAudit, .worker = WorkerKey(worker), .of = of, .nonce = nonce});
    const Report report{.order = life.order().id,
                        .lease = number,
                        .receipt = HashBytes(AsBytes(life.Find(of)->receipt_file)),
                        .nonce = nonce,
                        .share = {},
                        .percent = life.order().policy.audit,
                        .finding = finding,
                        .steps = 3};
    return Sampled(report, *life.Find(of)->receipt);
  }
  LeaseNumber Audit(int worker, LeaseNumber of, Finding finding) {
    const Report report = LeaseAudit(worker, of, finding);
    Add(Audited{.lease = report.lease, .report = SignReport(report, KeyOf("worker" + std::to_string(worker)))});
    return report.lease;
  }
  void Judge(std::vector<LeaseNumber> convicted, std::vector<LeaseNumber> silent = {}, bool decided = true) {
    Add(Judged{.among = WantedBy(life).dispute,
               .evidence = convicted.empty() ? std::vector<std::string>() : std::vector{DigestOf("evidence").hex()},
               .convicted = std::move(convicted),
               .silent = std::move(silent),
               .decided = decided,
               .words = ""});
  }
  void ExpectDecision(Verdict verdict, LeaseNumber lease) {
    const auto due = WantedBy(life).decision;
    ASSERT_TRUE(due);
    EXPECT_EQ(Name(due->verdict), Name(verdict));
    EXPECT_EQ(due->lease, lease);
    EXPECT_FALSE(Try(Decided{.verdict = verdict, .lease = lease + 1})) << "another lease's model";
    Add(*due);
    EXPECT_TRUE(life.decision());
    EXPECT_FALSE(Try(Cancelled{.by = "client"})) << "a decision is the last";
  }

  Life life;
};

TEST(Life, RunsThatAgreeAreVerified) {
  Story story({.replicas = 2});
  EXPECT_EQ(WantedBy(story.life).runs, 2);
  story.Run(1, 0);
  EXPECT_EQ(WantedBy(story.life).runs, 1);
  EXPECT_FALSE(story.Try(Leased{.lease = 2, .worker = WorkerKey(1)})) << "one key, one run";
  EXPECT_FALSE(story.Try(Decided{.verdict = Verdict::kVerified, .lease = 1})) << "one run of two";
  story.Run(2, 0);
  EXPECT_FALSE(story.Try(Leased{.lease = 3, .worker = WorkerKey(3)})) << "nothing is wanted";
  story.ExpectDecision(Verdict::kVerified, 1);
}

TEST(Life, AConvictedRunIsOutAndTheOtherIsDelivered) {
  Story story({.replicas = 2});
  story.Run(1, 1);
  story.Run(2, 0);
  EXPECT_EQ(WantedBy(story.life).dispute, (std::vector<LeaseNumber>{1, 2}));
  EXPECT_FALSE(story.Try(Decided{.verdict = Verdict::kVerified, .lease = 1}));
  EXPECT_FALSE(story.Try(Judged{.among = {1, 2}, .evidence = {}, .convicted = {1}, .decided = true})) << "no evidence";
  EXPECT_FALSE(story.Try(Judged{.among = {1, 2}, .evidence = {}, .decided = true})) << "two promises are left";
  const auto named = [](std::vector<std::string> evidence) {
    return Judged{.among = {1, 2}, .evidence = std::move(evidence), .convicted = {1}, .decided = true};
  };
  const std::string file = DigestOf("evidence").hex();
  EXPECT_FALSE(story.Try(named({file, file}))) << "named twice";
  EXPECT_FALSE(story.Try(named({file, "x"}))) << "no hash";
  EXPECT_FALSE(story.Try(named({""}))) << "no hash";
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= kMaxEvidenceFiles; ++i) many.push_back(DigestOf(std::to_string(i)).hex());
  EXPECT_FALSE(story.Try(named(many))) << "too many";
  many.pop_back();
  Story other = story;
  EXPECT_TRUE(other.Try(named(many)));
  story.Judge({1});
  story.ExpectDecision(Verdict::kRefereed, 2);
}

// Whoever else writes the life could otherwise say that the honest worker was silent.
TEST(Life, ASealedOrderIsJudgedByItsClientAlone) {
  Story story({.replicas = 2}, {1, 2});
  story.Run(1, 0);
  story.Run(2, 1);
  Judged judged{.among = {1, 2}, .convicted = {}, .silent = {2}, .decided = true};
  EXPECT_FALSE(story.Try(judged)) << "nobody has signed it";
  for (const char* other : {"coordinator", "worker1", "client2"}) {
    judged.signature = SignRuling(story.life, judged, KeyOf(other));
    EXPECT_FALSE(story.Try(judged)) << other;
  }
  judged.signature = SignRuling(story.life, judged, KeyOf("client"));
  const auto refused = [&](const auto& change) {
    Judged other = judged;
    change(other);
    return !story.Try(other);
  };
  EXPECT_TRUE(refused([](Judged& e) { e.silent = {1}; }));
  EXPECT_TRUE(refused([](Judged& e) { e.silent = {1, 2}; }));
  EXPECT_TRUE(refused([](Judged& e) { e.decided = false; }));
  EXPECT_TRUE(refused([](Judged& e) { e.words = "silent"; }));
  EXPECT_TRUE(refused([&](Judged& e) {
    e.words = "silent";
    e.signature = SignRuling(story.life, e, KeyOf("client"));
  })) << "words of a sealed order's client could quote the job";
  EXPECT_TRUE(refused([](Judged& e) { e.evidence = {DigestOf("evidence").hex()}; }));
  EXPECT_TRUE(refused([](Judged& e) { e.silent = {}, e.convicted = {2}, e.evidence = {DigestOf("evidence").hex()}; }));
  EXPECT_TRUE(refused([](Judged& e) { e.signature.pop_back(); }));

  // The same leases of another history, with other runs under them.
  Story other({.replicas = 2}, {1, 2});
  other.Run(1, 0);
  other.Run(2, 2);
  EXPECT_FALSE(other.Try(judged));
  story.Add(judged);
  story.ExpectDecision(Verdict::kRefereed, 1);

  Story open({.replicas = 2});
  open.Run(1, 0);
  open.Run(2, 1);
  judged.signature = SignRuling(open.life, judged, KeyOf("client"));
  EXPECT_FALSE(open.Try(judged)) << "the coordinator is the referee of an order that is not sealed";
}

TEST(Life, WhereNobodyStandsWorkIsGivenAgainUntilAttemptsAreUsedUp) {
  Story story({.replicas = 2, .attempts = 4});
  story.Run(1, 1);
  story.Run(2, 2);
  story.Judge({1}, {2});
  EXPECT_EQ(WantedBy(story.life).runs, 2);
  const LeaseNumber gone = story.Lease(3);
  story.Run(4, 0);
  story.Add(Released{.lease = gone, .why = Ending::kExpired, .words = ""});
  EXPECT_FALSE(story.Try(Received{.lease = gone, .receipt = ReceiptFile(3, 0), .proof = {}})) << "fenced";
  story.ExpectDecision(Verdict::kWithheld, 0);
}

TEST(Life, NobodyCame) {
  Story story({.replicas = 1, .audit = 50, .attempts = 1});
  story.Add(Released{.lease = story.Lease(1), .why = Ending::kLost, .words = ""});
  story.ExpectDecision(Verdict::kFailed, 0);
}

TEST(Life, ADrawHasItsOwnVerdict) {
  Story story({.replicas = 2});
  story.Run(1, 1);
  story.Run(2, 0);
  story.Judge({}, {}, false);
  story.ExpectDecision(Verdict::kUndecided, 0);
}

TEST(Life, AnAuditMakesOneRunEnough) {
  Story story({.replicas = 1, .audit = 10});
  const LeaseNumber run = story.Run(1, 0);
  EXPECT_EQ(WantedBy(story.life).audits, std::vector<LeaseNumber>{run});
  story.Audit(2, run, Finding::kUnchecked);
  story.Audit(3, run, Finding::kVerified);
  story.ExpectDecision(Verdict::kVerified, run);
}

TEST(Life, ASampleIsDrawnByTheNonceAndTheAuditorsShare) {
  Story story({.replicas = 1, .audit = 50});
  const LeaseNumber run = story.Run(1, 0);
  const Report good = story.LeaseAudit(2, run, Finding::kVerified);
  const auto refused = [&](const auto& change) {
    Report report = good;
    change(report);
    return !story.Try(Audited{.lease = good.lease, .report = SignReport(report, KeyOf("worker2"))});
  };
  // One of two segments is drawn: some other share draws the other one.
  const Receipt& receipt = *story.life.Find(run)->receipt;
  Report other = good;
  for (int i = 0; other.sample == good.sample; ++i) other = Sampled(good, receipt, "share" + std::to_string(i));
  EXPECT_TRUE(refused([&](Report& report) { report.sample = other.sample; })) << "segments that were not drawn";
  EXPECT_TRUE(refused([&](Report& report) { report.share = other.share; })) << "a share that draws others";
  EXPECT_TRUE(refused([](Report& report) { report.share.clear(); }));
  EXPECT_TRUE(refused([](Report& report) { report.sample.clear(); }));
  EXPECT_TRUE(refused([](Report& report) { report.nonce = DigestOf("another").hex(); }));
  EXPECT_TRUE(refused([](Report& report) { report.finding = Finding::kUnchecked; })) << "which replayed nothing for certain";
  story.Add(Audited{.lease = good.lease, .report = SignReport(good, KeyOf("worker2"))});
  story.ExpectDecision(Verdict::kVerified, run);
}

// Whoever chooses one of the two, however it likes, leaves the draw as even as it was.
TEST(Life, NeitherNonceNorShareAloneChoosesASample) {
  Receipt receipt = testkit::ReceiptOf(1, 0);
  receipt.steps = 10;
  receipt.snapshot_every = 1;
  const Digest hash = DigestOf("receipt");
  const std::string spared = SampleHash({0, 1, 2, 4, 5, 6, 8, 9});  // without segments 3 and 7
  const auto share_of = [&](const auto& sample) {
    int passes = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) passes += sample(DigestOf(std::to_string(i)).hex()) == spared ? 1 : 0;
    return passes;
  };
  // The nonce for which the sample would pass is found, and does no good.
  std::string nonce, share;
  for (int i = 0; nonce.empty(); ++i) {
    const std::string tried = DigestOf("try" + std::to_string(i)).hex();
    if (*SampleOf(receipt, hash, tried, DigestOf("0").hex(), 80) == spared) nonce = tried;
  }
  for (int i = 0; share.empty(); ++i) {
    const std::string tried = DigestOf("try" + std::to_string(i)).hex();
    if (*SampleOf(receipt, hash, DigestOf("0").hex(), tried, 80) == spared) share = tried;
  }
  // 1 of C(10, 2): 89 of 4000, and five standard deviations.
  EXPECT_NEAR(share_of([&](const std::string& other) { return *SampleOf(receipt, hash, nonce, other, 80); }), 89, 47);
  EXPECT_NEAR(share_of([&](const std::string& other) { return *SampleOf(receipt, hash, other, share, 80); }), 89, 47);
}

TEST(Life, RunsOfMoreSegmentsThanAnybodyWouldDrawAreNotSampled) {
  Receipt receipt = testkit::ReceiptOf(1, 0);
  receipt.steps = std::int64_t{1} << 32;
  receipt.snapshot_every = 1;
  const std::string digits = DigestOf("nonce").hex();
  EXPECT_FALSE(SampleOf(receipt, DigestOf("receipt"), digits, digits, 50));
  receipt.snapshot_every = 0;
  EXPECT_TRUE(SampleOf(receipt, DigestOf("receipt"), digits, digits, 50));
}

TEST(Life, AnAuditorThatRefutesPutsItsOwnReceiptToIt) {
  Story story({.replicas = 1, .audit = 10});
  const LeaseNumber run = story.Run(1, 1);
  const LeaseNumber audit = story.Audit(2, run, Finding::kRefuted);
  EXPECT_EQ(WantedBy(story.life).challenges, std::vector<LeaseNumber>{audit});
  EXPECT_FALSE(story.Try(Leased{.lease = 3, .worker = WorkerKey(3), .of = audit})) << "the auditor itself has to";
  const LeaseNumber own = story.Run(2, 0, audit);
  story.Judge({run});
  EXPECT_EQ(WantedBy(story.life).audits, std::vector<LeaseNumber>{own}) << "what is left is audited as well";
  story.Audit(3, own, Finding::kVerified);
  story.ExpectDecision(Verdict::kRefereed, own);
}

// A key is its 32 bytes: under another name it is still the auditor's, and its run is signed by that name.
TEST(Life, AChallengeIsForTheAuditorsKeyUnderWhateverName) {
  Story story({.replicas = 1, .audit = 10});
  const LeaseNumber run = story.Run(1, 1);
  const LeaseNumber audit = story.Audit(2, run, Finding::kRefuted);
  const std::string renamed = VerifyKey("other", KeyOf("worker2").verify_key().point()).ToString();
  story.Add(Leased{.lease = 3, .worker = renamed, .of = audit});
  EXPECT_FALSE(story.Try(Received{.lease = 3, .receipt = ReceiptFile(2, 0), .proof = {}})) << "signed under the old name";
}

TEST(Life, ReportsOnSealedOrdersSayNothingOfTheJob) {
  const auto taken = [](Finding finding, const std::string& words, const std::vector<int>& sealed) {
    Story story({.replicas = 1, .audit = 10}, sealed);
    Report report = story.LeaseAudit(2, story.Run(1, 0), finding);
    report.words = words;
    return story.Try(Audited{.lease = report.lease, .report = SignReport(report, KeyOf("worker2"))}).has_value();
  };
  const std::vector<int> sealed = {1, 2};
  EXPECT_TRUE(taken(Finding::kRefuted, "step 3: loss of the layer 'secret'", {}));
  EXPECT_FALSE(taken(Finding::kRefuted, "step 3: loss of the layer 'secret'", sealed));
  for (const char* words : {"", "refuted", "refuted at step 0", "refuted at step 12"})
    EXPECT_TRUE(taken(Finding::kRefuted, words, sealed)) << words;
  for (const char* words : {"refuted ", "refuted at step ", "refuted at step 07", "refuted at step -1", "refuted at step 1x",
                            "damaged", "refuted at step 99999999999999999999"})
    EXPECT_FALSE(taken(Finding::kRefuted, words, sealed)) << words;
  EXPECT_TRUE(taken(Finding::kDamaged, "damaged", sealed));
  EXPECT_FALSE(taken(Finding::kDamaged, "damaged at step 1", sealed));
  EXPECT_TRUE(taken(Finding::kUnchecked, "unchecked", sealed));
  EXPECT_TRUE(taken(Finding::kVerified, "", sealed));
  EXPECT_FALSE(taken(Finding::kVerified, "verified", sealed));
}

TEST(Life, AnAuditThatIsNotMadeGoodIsVoid) {
  Story story({.replicas = 1, .audit = 10});
  const LeaseNumber run = story.Run(1, 0);
  story.Run(2, 0, story.Audit(2, run, Finding::kRefuted));  // its own run agrees
  const LeaseNumber silent = story.Lease(3, story.Audit(3, run, Finding::kRefuted));
  EXPECT_FALSE(WantedBy(story.life).decision);
  story.Add(Released{.lease = silent, .why = Ending::kExpired, .words = ""});
  const LeaseNumber liar = story.Run(4, 7, story.Audit(4, run, Finding::kRefuted));
  EXPECT_EQ(WantedBy(story.life).dispute, (std::vector<LeaseNumber>{run, 3, liar}));
  story.Judge({liar});
  story.ExpectDecision(Verdict::kRefereed, run);  // three auditors came to nothing, the referee did not
}

TEST(Life, ThreeAuditsInVainLeaveItOpen) {
  Story story({.replicas = 2, .audit = 10});
  story.Run(1, 0);
  story.Run(2, 0);
  for (int auditor : {3, 4, 5}) story.Audit(auditor, 1, Finding::kDamaged);
  story.ExpectDecision(Verdict::kUndecided, 0);
}

TEST(Life, AuditorsThatNeverReportDoNotKeepAnOrderOpen) {
  Story story({.replicas = 1, .audit = 10, .attempts = 4});
  const LeaseNumber run = story.Run(1, 0);
  for (int auditor : {2, 3, 4, 5}) {
    const LeaseNumber number = story.life.next_lease();
    story.Add(Leased{
        .lease = number, .role = Role::kAudit, .worker = WorkerKey(auditor), .of = run, .nonce = DigestOf("nonce").hex()});
    story.Add(Released{.lease = number, .why = Ending::kExpired});
  }
  story.ExpectDecision(Verdict::kUndecided, 0);
}

TEST(Life, CommitmentsOnlyGrowAndTheReceiptContinuesThem) {
  Story story({.replicas = 2});
  const LeaseNumber lease = story.Lease(1);
  const SigningKey key = KeyOf("worker1"), stranger = KeyOf("worker2");
  const Checkpoint head{.origin = testkit::OriginOf(1), .size = 5, .root = DigestOf("five")};
  EXPECT_FALSE(story.Try(Committed{.lease = lease, .note = SignCheckpoint(head, stranger), .proof = {}}));
  Checkpoint empty = head, elsewhere = head;
  empty.size = 0;
  empty.root = HashBytes({});
  EXPECT_FALSE(story.Try(Committed{.lease = lease, .note = SignCheckpoint(empty, key), .proof = {}})) << "nothing continues it";
  elsewhere.origin = "worker1/" + DigestOf("another job").hex();
  EXPECT_FALSE(story.Try(Committed{.lease = lease, .note = SignCheckpoint(elsewhere, key), .proof = {}}))
      << "another job's log";
  story.Add(Committed{.lease = lease, .note = SignCheckpoint(head, key), .proof = {}});
  EXPECT_FALSE(story.Try(Committed{.lease = lease, .note = SignCheckpoint(head, key), .proof = {}})) << "replayed";
  Checkpoint other = head;
  other.root = DigestOf("another five");
  EXPECT_FALSE(story.Try(Committed{.lease = lease, .note = SignCheckpoint(other, key), .proof = {}}));
  EXPECT_FALSE(story.Try(Received{.lease = lease, .receipt = ReceiptFile(1, 0), .proof = {}})) << "no proof that it continues";
}

TEST(Life, ReceiptsOfOthersOrForOtherJobsAreRefused) {
  Story story({.replicas = 2});
  const LeaseNumber lease = story.Lease(1);
  EXPECT_FALSE(story.Try(Received{.lease = lease, .receipt = ReceiptFile(2, 0), .proof = {}}));
  Receipt receipt = testkit::ReceiptOf(1, 0);
  receipt.job = DigestOf("another job");
  EXPECT_FALSE(story.Try(Received{.lease = lease, .receipt = SignReceipt(receipt, KeyOf("worker1")), .proof = {}}));
}

TEST(Life, ACancelledOrderFails) {
  Story story({.replicas = 2});
  const LeaseNumber lease = story.Lease(1);
  story.Add(Cancelled{.by = "client"});
  EXPECT_FALSE(story.Try(Leased{.lease = 2, .worker = WorkerKey(2)}));
  EXPECT_FALSE(WantedBy(story.life).decision) << "a lease is open";
  story.Add(Released{.lease = lease, .why = Ending::kCancelled, .words = ""});
  story.ExpectDecision(Verdict::kFailed, 0);
}

TEST(Life, OnlyALongRecordAndTheDrawWaive) {
  const Policy policy{.replicas = 2, .probe = 25};
  const Digest low{}, high = [] {
    Digest digest;
    digest.bytes.fill(0xff);
    return digest;
  }();
  EXPECT_FALSE(MayWaive(policy, kLongRecord - 1, high));
  EXPECT_FALSE(MayWaive(policy, kLongRecord, low)) << "drawn for a check";
  EXPECT_TRUE(MayWaive(policy, kLongRecord, high));
  EXPECT_FALSE(MayWaive({.replicas = 2, .probe = 100}, 1000, high));
  int waived = 0;
  for (int i = 0; i < 4000; ++i) waived += MayWaive(policy, kLongRecord, DigestOf("draw" + std::to_string(i)));
  EXPECT_NEAR(waived, 3000, 140);  // five standard deviations

  Story story(policy);
  const LeaseNumber run = story.Run(1, 0);
  EXPECT_FALSE(story.Try(Waived{.lease = run, .record = kLongRecord, .draw = low.hex()}));
  story.Add(Waived{.lease = run, .record = kLongRecord, .draw = high.hex()});
  story.ExpectDecision(Verdict::kVerified, run);
}

TEST(Life, EntriesComeInOrder) {
  Story story({.replicas = 2});
  EXPECT_FALSE(story.life.Apply({.n = 0, .at = 1'700'000'100, .event = Cancelled{.by = "client"}}));
  EXPECT_FALSE(story.life.Apply({.n = 1, .at = 1, .event = Cancelled{.by = "client"}}));
  EXPECT_FALSE(story.Try(Submitted{OrderOf({.replicas = 2})}));
  EXPECT_EQ(story.life.size(), 1);
}

TEST(Order, OnlyItsOwnFormAndSignature) {
  const std::string good = OrderOf({.replicas = 3, .audit = 5});
  ASSERT_TRUE(OpenOrder(good, "order"));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(OpenOrder(bad, "order")) << "byte " << i;
  }
  EXPECT_FALSE(OpenOrder(OrderOf({.replicas = 1, .audit = 0}), "order")) << "nothing would be checked";
  EXPECT_FALSE(OpenOrder(OrderOf({.replicas = 17}), "order"));
}

TEST(Order, SealedToRecipientsWithAReply) {
  const SigningKey key = KeyOf("client");
  const auto good = OpenOrder(OrderOf({.replicas = 2}, "client", {1, 2}), "order");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->sealed.size(), 2u);
  EXPECT_EQ(good->reply, testkit::RecipientOf("client").ToString());
  const auto opened = [&](const auto& change) {
    Order order = *good;
    change(order);
    return OpenOrder(SignOrder(order, key), "order").has_value();
  };
  EXPECT_TRUE(opened([](Order&) {}));
  EXPECT_FALSE(opened([](Order& order) { order.reply.clear(); })) << "nowhere to seal results to";
  EXPECT_FALSE(opened([](Order& order) { order.sealed.clear(); })) << "a reply to nothing";
  EXPECT_FALSE(opened([](Order& order) { order.sealed[0] = "age1nobody"; }));
  EXPECT_FALSE(opened([](Order& order) { order.reply = "age1nobody"; }));
  EXPECT_FALSE(opened([](Order& order) { order.files[1].bound.clear(); })) << "a sealed file that anybody may take over";
  EXPECT_FALSE(opened([](Order& order) { order.sealed.clear(), order.reply.clear(); })) << "bound, and not sealed";
}

}  // namespace
}  // namespace assay::life
