// Disputes that are really held: runs of a small job kept in memory, the real law, workers that answer through the mailbox.
#include "assay/coordinator/referee.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "assay/coordinator/run_check.h"
#include "assay/dispute/answerer.h"
#include "assay/platform/outcome.h"
#include "jobs_for_test.h"
#include "memory_run.h"
#include "support/test_book.h"

namespace assay::coordinator {
namespace {

using dispute::MemoryRun;
using testkit::KeyOf;
using testkit::WorkerKey;

// A worker's answers, given by a thread that polls as a worker does.
class Witness {
 public:
  Witness(MemoryRun& run, SigningKey key, const SigningKey& referee, Mailbox& mailbox)
      : run_(run), key_(std::move(key)), referee_(referee), mailbox_(mailbox), thread_([this] { Work(); }) {}
  ~Witness() {
    ending_ = true;
    thread_.join();
  }
  int answered() const { return answered_; }
  void Restart() { restart_ = true; }  // forgets which disputes are open

 private:
  void Work() {
    const std::string point = PointOf(key_.verify_key());
    std::unique_ptr<dispute::Answerer> answerer;
    while (!ending_) {
      if (answerer == nullptr || restart_.exchange(false)) answerer = MakeAnswerer();
      const auto questions = mailbox_.For(point);
      if (!questions || questions->empty()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        continue;
      }
      for (const PostedQuestion& question : *questions) {
        const PostedAnswer answer = AnswerTo(*answerer, question);
        // Twice, as over a network that lost the first answer's receipt.
        EXPECT_TRUE(mailbox_.Answer(point, question.id, answer));
        EXPECT_TRUE(mailbox_.Answer(point, question.id, answer));
        ++answered_;
      }
    }
  }
  std::unique_ptr<dispute::Answerer> MakeAnswerer() {
    const dispute::Work much{std::int64_t{1} << 40, std::int64_t{1} << 40, std::int64_t{1} << 40};
    auto docket = dispute::DocketOf(
        run_, {.pinned = {referee_.verify_key().point()}, .bout = {.work = much, .bytes = std::uint64_t{1} << 40}});
    EXPECT_TRUE(docket) << docket.error().message;
    return std::make_unique<dispute::Answerer>(run_, key_, *std::move(docket));
  }
  static PostedAnswer AnswerTo(dispute::Answerer& answerer, const PostedQuestion& question) {
    const auto failed = [](const dispute::Answerer::Failure& failure) {
      using Kind = dispute::Answerer::Failure::Kind;
      const ByteSpan why = AsBytes(failure.why);
      return PostedAnswer{.error = failure.kind == Kind::kNotOpen     ? "not_open"
                                   : failure.kind == Kind::kForbidden ? "denied"
                                                                      : "later",
                          .body = Bytes(why.begin(), why.end())};
    };
    if (question.kind == platform::kOpenQuestion) {
      const auto opened = answerer.Open(question.body);
      if (!opened) return failed(opened.error());
      const std::string id = opened->hex();
      return {.body = Bytes(id.begin(), id.end())};
    }
    auto body = answerer.Answer(question.body);
    return body ? PostedAnswer{.body = *std::move(body)} : failed(body.error());
  }

  MemoryRun& run_;
  const SigningKey key_;
  const SigningKey& referee_;
  Mailbox& mailbox_;
  std::atomic<bool> ending_ = false, restart_ = false;
  std::atomic<int> answered_ = 0;
  std::thread thread_;
};

// The runs are made once: honest, and false from step 2 on.
struct Cast {
  PreparedJob prepared = dispute::PreparedFrom(dispute::MlpJob(9, 3, 2));
  MemoryRun honest{prepared, KeyOf("worker1"), {}};
  MemoryRun liar{prepared, KeyOf("worker2"), {.after = [](std::int64_t step, State& state) {
                   if (step == 2) state[3].mutable_bytes()[5] ^= 1;
                 }}};
};
Cast& TheCast() {
  static Cast cast;
  return cast;
}

class Disputes : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    auto blobs = store::Blobs::Open(scratch_ / "blobs", {.reserve_bytes = 0});
    ASSERT_TRUE(blobs) << blobs.error().message;
    blobs_ = *std::move(blobs);
    AddWorker(1);
    AddWorker(2);
    const SigningKey client = KeyOf("client");
    const life::Order order{.id = testkit::DigestOf("order").hex().substr(0, 32),
                            .client = client.verify_key().ToString(),
                            .coordinator = key_.verify_key().ToString(),
                            .job = TheCast().prepared.identity.job,
                            .files = {{.name = "job.toml", .sha256 = testkit::DigestOf("toml"), .bytes = 4}}};
    const auto id = book_->Submit("client", life::SignOrder(order, client));
    ASSERT_TRUE(id) << id.error().message;
    order_ = *id;
    Bring(1, TheCast().honest);
    Bring(2, TheCast().liar);
  }
  void Bring(int worker, MemoryRun& run) {
    const life::LeaseNumber lease = Lease(worker);
    Good(book_->Receive(WorkerKey(worker), order_, {.lease = lease, .receipt = run.receipt(), .proof = {}, .model = 100},
                        {Stored("job.bin", run.job()), Stored("program.bin", run.program())}));
  }
  life::OrderFile Stored(const std::string& name, const Bytes& bytes) {
    const Digest hash = HashBytes(bytes);
    EXPECT_TRUE(blobs_->Begin(hash, "test", bytes.size()));
    EXPECT_TRUE(blobs_->Append(hash, "test", 0, bytes));
    Good(blobs_->Finish(hash, "test"));
    return {.name = name, .sha256 = hash, .bytes = static_cast<std::int64_t>(bytes.size())};
  }
  static RefereeOptions Options(std::int64_t allowance_ms = 60'000) {
    RefereeOptions options{.threads = 1, .beat_ms = 50, .look_ms = 20};
    options.clocks.allowance_ms = allowance_ms;
    options.clocks.rerun_ms = 0;
    return options;
  }
  bool Decided(Book& book, int seconds = 60) {
    for (int i = 0; i < seconds * 100; ++i) {
      const auto written = book.Look(order_);
      if (written && (*written)->life.decision()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  life::Judged TheJudgement() {
    const auto written = book_->Look(order_);
    EXPECT_TRUE(written && (*written)->life.disputes().size() == 1);
    return (*written)->life.disputes().at(0);
  }

  std::unique_ptr<store::Blobs> blobs_;
  Bell bell_;
  std::string order_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Disputes, ::testing::ValuesIn(store::Engines(true)), store::EngineName);

TEST_P(Disputes, TheLiarIsConvictedByEvidenceThatAnybodyCanJudge) {
  Mailbox mailbox(*database_, bell_);
  const Witness honest(TheCast().honest, KeyOf("worker1"), key_, mailbox);
  Witness liar(TheCast().liar, KeyOf("worker2"), key_, mailbox);
  liar.Restart();
  {
    const Referee referee(*book_, mailbox, *blobs_, bell_, key_, Options());
    ASSERT_TRUE(Decided(*book_));
  }
  EXPECT_EQ(VerdictOf(order_), "refereed");
  life::Judged judged = TheJudgement();
  EXPECT_EQ(judged.convicted, std::vector<life::LeaseNumber>{2}) << judged.words;
  EXPECT_TRUE(judged.silent.empty());
  ASSERT_EQ(judged.evidence.size(), 1U);
  const auto evidence = ReadBlob(*blobs_, *Digest::FromHex(judged.evidence[0]), dispute::kMaxEvidenceBytes);
  ASSERT_TRUE(evidence) << evidence.error().message;
  const auto written = book_->Look(order_);
  Good(platform::CheckConvictions((*written)->life, judged, std::vector<Bytes>{*evidence}));
  judged.convicted = {1};
  EXPECT_FALSE(platform::CheckConvictions((*written)->life, judged, std::vector<Bytes>{*evidence}))
      << "it does not convict the honest";
  judged.convicted = {2};
  Bytes edited = *evidence;
  edited.back() ^= 1;
  EXPECT_FALSE(platform::CheckConvictions((*written)->life, judged, std::vector<Bytes>{edited}))
      << "it is not the one that is named";
}

TEST_P(Disputes, SilenceLosesAndConvictsNobody) {
  Mailbox mailbox(*database_, bell_);
  const Witness honest(TheCast().honest, KeyOf("worker1"), key_, mailbox);
  const Referee referee(*book_, mailbox, *blobs_, bell_, key_, Options(1'500));
  ASSERT_TRUE(Decided(*book_));
  EXPECT_EQ(VerdictOf(order_), "refereed");
  const life::Judged judged = TheJudgement();
  EXPECT_TRUE(judged.convicted.empty());
  EXPECT_EQ(judged.silent, std::vector<life::LeaseNumber>{2}) << judged.words;
  EXPECT_TRUE(book_->Next(WorkerKey(2))) << "it may go on working";
}

TEST_P(Disputes, AnotherCoordinatorGoesOnWhereOneFell) {
  // The first takes the dispute, asks, and is heard no more: nobody gives its signs of life.
  ASSERT_TRUE(book_->TakeDispute("fallen")->has_value());
  Mailbox mailbox(*database_, bell_);
  const PostedQuestion left{.order = order_, .lease = 1, .kind = "open", .body = Bytes{1, 2, 3}};
  ASSERT_TRUE(mailbox.Put("fallen", left));
  const auto database = Open();
  const auto book = MakeBook(*database);
  Bell bell;
  Mailbox other(*database, bell);
  const Witness honest(TheCast().honest, KeyOf("worker1"), key_, mailbox),
      liar(TheCast().liar, KeyOf("worker2"), key_, mailbox);
  const Referee referee(*book, other, *blobs_, bell, key_, Options());
  EXPECT_FALSE(Decided(*book_, 1)) << "it may yet be heard of";
  clock_->Pass(kLeaseMs);
  ASSERT_TRUE(Decided(*book_));
  EXPECT_EQ(TheJudgement().convicted, std::vector<life::LeaseNumber>{2});
  EXPECT_FALSE(book_->Judge("fallen", order_, {.among = {1, 2}, .silent = {1}, .decided = true})) << "too late";
}

TEST_P(Disputes, ARefereeThatStopsInTheMiddleLeavesTheDisputeToTheNext) {
  Mailbox mailbox(*database_, bell_);
  auto honest = std::make_unique<Witness>(TheCast().honest, KeyOf("worker1"), key_, mailbox);
  {
    const Referee referee(*book_, mailbox, *blobs_, bell_, key_, Options());
    for (int i = 0; i < 500 && honest->answered() < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(honest->answered(), 1);
  }
  EXPECT_EQ(VerdictOf(order_), "") << "nothing is said of a dispute that was given up";
  const Witness liar(TheCast().liar, KeyOf("worker2"), key_, mailbox);
  const Referee referee(*book_, mailbox, *blobs_, bell_, key_, Options());
  ASSERT_TRUE(Decided(*book_));
  EXPECT_EQ(TheJudgement().convicted, std::vector<life::LeaseNumber>{2});
}

TEST_P(Disputes, AResultMustBeAClaimAboutTheJob) {
  BlobRights rights(*database_, clock_, {});
  const auto written = book_->Look(order_);
  MemoryRun& run = TheCast().honest;
  const auto claim = dispute::OpenClaim(run.receipt(), "receipt");
  ASSERT_TRUE(claim);
  const std::vector<life::OrderFile> own = {Stored("job.bin", run.job()), Stored("program.bin", run.program())};
  for (const life::OrderFile& file : own) Good(rights.Finish("account of worker1", file.sha256, file.bytes));
  const auto check = [&](const std::function<void(Receipt&)>& change, std::vector<life::OrderFile> files) {
    // The model's bytes do not matter here; its hash has to be the receipt's.
    const Bytes model = {1, 2, 3};
    Receipt receipt = claim->receipt;
    receipt.model = HashBytes(model);
    files.push_back(Stored("model.safetensors", model));
    Good(rights.Finish("account of worker1", receipt.model, 3));
    change(receipt);
    std::ranges::sort(files, {}, &life::OrderFile::name);
    return CheckRun(*blobs_, rights, "account of worker1", (*written)->life.order(),
                    {.lease = 1, .receipt = SignReceipt(receipt, KeyOf("worker1")), .proof = {}, .model = 3}, files);
  };
  Good(check([](Receipt&) {}, own));
  EXPECT_FALSE(check([](Receipt& receipt) { receipt.steps = 8; }, own)) << "of another length";
  EXPECT_FALSE(check([](Receipt& receipt) { receipt.model.bytes[0] ^= 1; }, own)) << "another model";
  EXPECT_FALSE(check([](Receipt&) {}, {own[0]})) << "no program";
  EXPECT_FALSE(check([](Receipt&) {}, {own[0], {.name = "program.bin", .sha256 = own[0].sha256, .bytes = own[0].bytes}}));
  EXPECT_FALSE(check([](Receipt&) {}, {own[0], {.name = "program.bin", .sha256 = testkit::DigestOf("x"), .bytes = 3}}))
      << "no such blob";
  EXPECT_FALSE(check([](Receipt&) {}, {own[0], own[1], {.name = "../x", .sha256 = own[0].sha256, .bytes = own[0].bytes}}));
}

}  // namespace
}  // namespace assay::coordinator
