#include "assay/client/checked_life.h"

#include <gtest/gtest.h>

#include "assay/life/ruling.h"
#include "assay/life/wanted.h"
#include "assay/merkle/tree.h"
#include "support/life_parties.h"

namespace assay::client {
namespace {

using testkit::DigestOf;
using testkit::KeyOf;
using testkit::OrderOf;
using testkit::ReceiptFile;
using testkit::WorkerKey;

// A coordinator that signs whatever it is told to.
struct Teller {
  std::vector<std::string> entries{};
  std::int64_t at = 1'700'000'000;

  void Add(life::Event event) {
    entries.push_back(life::ToText({.n = std::ssize(entries), .at = at++, .event = std::move(event)}));
  }
  void Lease(int worker) { Add(life::Leased{.lease = ++leases, .worker = WorkerKey(worker)}); }
  void Receive(life::LeaseNumber lease, int worker, int claim) {
    Add(life::Received{.lease = lease, .receipt = ReceiptFile(worker, claim), .proof = {}, .model = 100});
  }
  std::string Note(const std::string& signer = "coordinator", const std::string& origin = "") const {
    std::vector<Digest> leaves;
    for (const std::string& entry : entries) leaves.push_back(LeafHash(AsBytes(entry)));
    const Checkpoint head{
        .origin = origin.empty() ? "assay.life/" + Id() : origin, .size = entries.size(), .root = TreeRoot(leaves)};
    return SignCheckpoint(head, KeyOf(signer));
  }
  static std::string Id() { return DigestOf("order").hex().substr(0, 32); }

  life::LeaseNumber leases = 0;
};

LifeTerms Terms() {
  return {.id = Teller::Id(), .coordinator = KeyOf("coordinator").verify_key(), .envelope = OrderOf({.replicas = 2})};
}

Teller Verified() {
  Teller teller;
  teller.Add(life::Submitted{OrderOf({.replicas = 2})});
  teller.Lease(1);
  teller.Lease(2);
  teller.Receive(1, 1, 0);
  teller.Receive(2, 2, 0);
  teller.Add(life::Decided{.verdict = life::Verdict::kVerified, .lease = 1});
  return teller;
}

std::string Refusal(const Teller& teller, const std::string& note, LifeTerms terms = Terms(),
                    const std::optional<std::string>& before = {}) {
  CheckedLife checked(std::move(terms));
  const auto good = checked.Continue(teller.entries, note, before);
  if (good) return "";
  EXPECT_TRUE(good.error().refused) << good.error().message;
  EXPECT_EQ(checked.size(), 0U) << "an error leaves it as it was";
  return good.error().message;
}

TEST(CheckedLife, BelievesWhatFollows) {
  const Teller teller = Verified();
  CheckedLife checked(Terms());
  const auto good = checked.Continue(teller.entries, teller.Note(), std::nullopt);
  ASSERT_TRUE(good) << good.error().message;
  ASSERT_TRUE(checked.life().decision());
  EXPECT_EQ(checked.life().decision()->lease, 1);
  EXPECT_TRUE(checked.Unproven().empty());
  EXPECT_TRUE(TakenOnTrust(checked.life()).empty());
}

TEST(CheckedLife, GoesOnPieceByPiece) {
  Teller whole = Verified();
  Teller part = whole;
  part.entries.resize(3);
  CheckedLife checked(Terms());
  ASSERT_TRUE(checked.Continue(part.entries, part.Note(), std::nullopt));
  const std::vector<std::string> rest(whole.entries.begin() + 3, whole.entries.end());
  ASSERT_TRUE(checked.Continue(rest, whole.Note(), part.Note()));
  EXPECT_TRUE(checked.life().decision());
}

TEST(CheckedLife, RefusesAForgedVerdict) {
  Teller early;
  early.Add(life::Submitted{OrderOf({.replicas = 2})});
  early.Lease(1);
  early.Receive(1, 1, 0);
  early.Add(life::Decided{.verdict = life::Verdict::kVerified, .lease = 1});
  EXPECT_NE(Refusal(early, early.Note()).find("no decision follows"), std::string::npos);

  Teller swapped = Verified();
  swapped.entries.pop_back();
  swapped.Add(life::Decided{.verdict = life::Verdict::kVerified, .lease = 2});
  EXPECT_NE(Refusal(swapped, swapped.Note()).find("what follows is verified by lease 1"), std::string::npos);
}

TEST(CheckedLife, RefusesWhatTheCoordinatorDidNotSign) {
  const Teller teller = Verified();
  EXPECT_NE(Refusal(teller, teller.Note("stranger")), "");
  EXPECT_NE(Refusal(teller, teller.Note("coordinator", "assay.life/" + std::string(32, '0'))).find("another log"),
            std::string::npos);
  EXPECT_NE(Refusal(teller, "nothing"), "");
  Teller shorter = teller;
  shorter.entries.pop_back();
  EXPECT_NE(Refusal(shorter, teller.Note()).find("is of 6 entries, not of 5"), std::string::npos);
  Teller edited = teller;
  edited.entries.pop_back();
  edited.Add(life::Decided{.verdict = life::Verdict::kVerified, .lease = 1, .words = "other words"});
  EXPECT_NE(Refusal(edited, teller.Note()).find("not of these entries"), std::string::npos);
}

TEST(CheckedLife, RefusesAnotherHistory) {
  const Teller teller = Verified();
  Teller shorter = teller;
  shorter.entries.resize(3);
  EXPECT_NE(Refusal(shorter, shorter.Note(), Terms(), teller.Note()).find("a life only grows"), std::string::npos);

  Teller fork;
  fork.Add(life::Submitted{OrderOf({.replicas = 2})});
  fork.Lease(3);
  fork.Lease(4);
  EXPECT_NE(Refusal(fork, fork.Note(), Terms(), shorter.Note()).find("two histories"), std::string::npos);
  EXPECT_EQ(Refusal(teller, teller.Note(), Terms(), shorter.Note()), "") << "a longer one goes on";
}

// What was kept here and is damaged speaks against nobody.
TEST(CheckedLife, DoesNotBlameTheCoordinatorForADamagedStateFolder) {
  const Teller teller = Verified();
  std::string flipped = teller.Note();
  flipped[flipped.size() - 10] = flipped[flipped.size() - 10] == 'A' ? 'B' : 'A';
  for (const std::string& kept : {std::string(), std::string("x"), flipped, teller.Note("client")}) {
    CheckedLife checked(Terms());
    const auto good = checked.Continue(teller.entries, teller.Note(), kept);
    ASSERT_FALSE(good) << kept;
    EXPECT_FALSE(good.error().refused) << good.error().message;
    EXPECT_NE(good.error().message.find("the checkpoint that was kept"), std::string::npos) << good.error().message;
  }
}

TEST(CheckedLife, RefusesAnotherOrder) {
  Teller other;
  other.Add(life::Submitted{OrderOf({.replicas = 3})});
  EXPECT_NE(Refusal(other, other.Note()).find("not the order that was submitted"), std::string::npos);

  LifeTerms unknown = Terms();
  unknown.envelope.clear();
  EXPECT_NE(Refusal(other, other.Note(), unknown).find("--signer"), std::string::npos);
  LifeTerms asking = unknown;
  asking.insists = false;
  CheckedLife stranger(asking);
  const auto told = stranger.Continue(other.entries, other.Note(), std::nullopt);
  ASSERT_FALSE(told);
  EXPECT_TRUE(told.error().stranger && !told.error().refused) << told.error().message;
  unknown.clients = {KeyOf("client").verify_key()};
  EXPECT_EQ(Refusal(other, other.Note(), unknown), "");
  LifeTerms wrong = Terms();
  wrong.id = std::string(32, '0');
  EXPECT_NE(Refusal(other, other.Note("coordinator", "assay.life/" + wrong.id), wrong).find("not of 000"), std::string::npos);
}

// Another order does not hide a second history, whether or not it can be told whose order it should be.
TEST(CheckedLife, RefusesAnotherHistoryUnderAnotherOrder) {
  const Teller seen = Verified();
  Teller swapped = seen;
  swapped.entries.front() =
      life::ToText({.n = 0, .at = 1'700'000'000, .event = life::Submitted{OrderOf({.replicas = 2}, "stranger")}});
  Teller shorter = swapped;
  shorter.entries.resize(3);
  Teller same = seen;
  same.Add(life::Leased{.lease = 3, .worker = WorkerKey(3)});
  LifeTerms terms = Terms();
  terms.envelope.clear();
  terms.insists = false;
  EXPECT_NE(Refusal(swapped, swapped.Note(), terms, seen.Note()).find("two histories"), std::string::npos);
  EXPECT_NE(Refusal(shorter, shorter.Note(), terms, seen.Note()).find("a life only grows"), std::string::npos);
  EXPECT_NE(Refusal(shorter, swapped.Note(), terms).find("not of 3"), std::string::npos)
      << "nor that the checkpoint is of another life";
  // Where only the key is gone, or what was kept here is damaged, nobody is refuted.
  const auto stranger = [&](const Teller& teller, const std::optional<std::string>& before) {
    CheckedLife checked(terms);
    const auto told = checked.Continue(teller.entries, teller.Note(), before);
    return !told && told.error().stranger && !told.error().refused;
  };
  EXPECT_TRUE(stranger(seen, seen.Note()));
  EXPECT_TRUE(stranger(same, seen.Note()));
  EXPECT_TRUE(stranger(swapped, std::nullopt));
  EXPECT_TRUE(stranger(swapped, "damaged"));
}

TEST(CheckedLife, WantsEvidenceForConvictions) {
  Teller teller;
  teller.Add(life::Submitted{OrderOf({.replicas = 2})});
  teller.Lease(1);
  teller.Lease(2);
  teller.Receive(1, 1, 0);
  teller.Receive(2, 2, 1);
  const Bytes evidence = {1, 2, 3};
  teller.Add(
      life::Judged{.among = {1, 2}, .evidence = {HashBytes(evidence).hex()}, .convicted = {1}, .silent = {}, .decided = true});
  teller.Add(life::Decided{.verdict = life::Verdict::kRefereed, .lease = 2});
  CheckedLife checked(Terms());
  ASSERT_TRUE(checked.Continue(teller.entries, teller.Note(), std::nullopt));
  ASSERT_EQ(checked.Unproven().size(), 1U);
  const auto proven = checked.Prove({evidence});
  ASSERT_FALSE(proven) << "three bytes convict nobody";
  EXPECT_TRUE(proven.error().refused);
  EXPECT_EQ(checked.Unproven().size(), 1U);
}

TEST(CheckedLife, TellsWhatItTakesOnTrust) {
  Teller teller;
  teller.Add(life::Submitted{OrderOf({.replicas = 2})});
  teller.Lease(1);
  teller.Lease(2);
  teller.Receive(1, 1, 0);
  teller.Receive(2, 2, 1);
  teller.Add(life::Judged{.among = {1, 2}, .convicted = {}, .silent = {1}, .decided = true});
  teller.Add(life::Decided{.verdict = life::Verdict::kRefereed, .lease = 2});
  CheckedLife checked(Terms());
  const auto good = checked.Continue(teller.entries, teller.Note(), std::nullopt);
  ASSERT_TRUE(good) << good.error().message;
  ASSERT_EQ(TakenOnTrust(checked.life()).size(), 1U);
  EXPECT_NE(TakenOnTrust(checked.life()).front().find("gave no answer"), std::string::npos);
}

// A coordinator that referees in the client's place would have the honest worker lose.
TEST(CheckedLife, RefusesAJudgementThatTheClientOfASealedOrderHasNotSigned) {
  const std::string order = OrderOf({.replicas = 2}, "client", {1, 2});
  LifeTerms terms = Terms();
  terms.envelope = order;
  Teller teller;
  teller.Add(life::Submitted{order});
  teller.Lease(1);
  teller.Lease(2);
  teller.Receive(1, 1, 0);
  teller.Receive(2, 2, 1);
  CheckedLife runs(terms);
  ASSERT_TRUE(runs.Continue(teller.entries, teller.Note(), std::nullopt));
  life::Judged judged{.among = {1, 2}, .convicted = {}, .silent = {1}, .decided = true};
  const auto told = [&](const std::string& signature) {
    judged.signature = signature;
    Teller whole = teller;
    whole.Add(judged);
    whole.Add(life::Decided{.verdict = life::Verdict::kRefereed, .lease = 2});
    return whole;
  };
  const Teller usurped = told(""), forged = told(life::SignRuling(runs.life(), judged, KeyOf("coordinator")));
  EXPECT_NE(Refusal(usurped, usurped.Note(), terms).find("is judged by its client"), std::string::npos);
  EXPECT_NE(Refusal(forged, forged.Note(), terms).find("is judged by its client"), std::string::npos);

  // What the client has signed is believed on any machine that knows its key, and whose word it is is said.
  const Teller own = told(life::SignRuling(runs.life(), judged, KeyOf("client")));
  LifeTerms elsewhere = terms;
  elsewhere.envelope.clear();
  elsewhere.clients = {KeyOf("client").verify_key()};
  CheckedLife checked(elsewhere);
  const auto good = checked.Continue(own.entries, own.Note(), std::nullopt);
  ASSERT_TRUE(good) << good.error().message;
  const auto trusted = TakenOnTrust(checked.life());
  ASSERT_EQ(trusted.size(), 1U);
  EXPECT_NE(trusted.front().find("gave no answer: the client's word"), std::string::npos) << trusted.front();
}

// Whoever drops the reports that it does not like, and leases again, chooses a sample.
TEST(CheckedLife, TellsOfAuditsThatBroughtNoReport) {
  const std::string order = OrderOf({.replicas = 1, .audit = 50});
  LifeTerms terms = Terms();
  terms.envelope = order;
  Teller teller;
  teller.Add(life::Submitted{order});
  teller.Lease(1);
  teller.Receive(1, 1, 0);
  const std::string nonce = DigestOf("nonce").hex();
  const auto audit = [&](int worker) {
    teller.Add(life::Leased{
        .lease = ++teller.leases, .role = life::Role::kAudit, .worker = WorkerKey(worker), .of = 1, .nonce = nonce});
  };
  for (const int worker : {2, 3}) {
    audit(worker);
    teller.Add(life::Released{.lease = teller.leases, .why = life::Ending::kExpired});
  }
  audit(4);
  const life::Report report{.order = Teller::Id(),
                            .lease = 4,
                            .receipt = DigestOf(ReceiptFile(1, 0)),
                            .nonce = nonce,
                            .share = {},
                            .percent = 50,
                            .finding = life::Finding::kVerified,
                            .steps = 5};
  const std::string envelope = life::SignReport(testkit::Sampled(report, testkit::ReceiptOf(1, 0)), KeyOf("worker4"));
  teller.Add(life::Audited{.lease = 4, .report = envelope});
  teller.Add(life::Decided{.verdict = life::Verdict::kVerified, .lease = 1});
  CheckedLife checked(terms);
  const auto good = checked.Continue(teller.entries, teller.Note(), std::nullopt);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(TakenOnTrust(checked.life()), std::vector<std::string>{"that 2 audits (leases 2, 3) brought no report"});
}

TEST(CheckedLife, InsistsOnWitnesses) {
  const Teller teller = Verified();
  LifeTerms terms = Terms();
  terms.witnesses = {*WitnessKey::Parse(KeyOf("witness").verify_key().ToString())};
  EXPECT_NE(Refusal(teller, teller.Note(), terms).find("witness"), std::string::npos);
  // The witness's line beneath the coordinator's.
  const std::string note = teller.Note(), seen = teller.Note("witness");
  const std::string both = note + seen.substr(seen.find("\n\n") + 2);
  EXPECT_EQ(Refusal(teller, both, terms), "");
}

}  // namespace
}  // namespace assay::client
