// Whole workers against a coordinator in memory: real folders, real training, real lives.
#include "assay/worker/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "assay/backend/ref/ref_backend.h"
#include "assay/life/bound.h"
#include "assay/merkle/proof.h"
#include "assay/seal/seal.h"
#include "support/array_bytes.h"
#include "support/crafts.h"
#include "support/fake_coordinator.h"
#include "support/scratch.h"
#include "support/small_job.h"

namespace assay::worker {
namespace {

const std::string kJob = testkit::SmallJobText();

// Its text lies outside of the order's folder.
constexpr char kElsewhere[] = R"(
name = "elsewhere"
steps = 1
[model]
kind = "gpt2"
context = 8
layers = 1
heads = 1
width = 8
[data]
kind = "chars"
path = "../../../../secret.txt"
[batch]
microbatch = 1
sequence = 8
[optimizer]
kind = "adam"
[schedule]
kind = "constant"
lr = 0.01
)";

constexpr char kArrays[] = R"(
name = "arrays"
steps = 1
[model]
kind = "mlp"
hidden = [8]
[data]
kind = "arrays"
path = "d.npz"
[batch]
microbatch = 4
[optimizer]
kind = "sgd"
[schedule]
kind = "constant"
lr = 0.01
)";

Bytes BytesOfText(std::string_view text) { return {text.begin(), text.end()}; }

Result<Compute> MakeTestCompute(const Job&) {
  Compute compute{.pool = std::make_unique<ThreadPool>(1), .backend = nullptr};
  compute.backend = ref::MakeRefBackend(*compute.pool);
  return compute;
}

// One worker with its folder, running on a thread of its own.
class Running {
 public:
  Running(FakeCoordinator& home, const std::string& folder, Craft& craft, WorkerOptions options = {}, bool start = true)
      : place_(Workplace::Open(folder).value()), key_(place_.OpenKey("").value()) {
    options.terms.tell_ms = 20;
    options.terms.commit_ms = 0;
    options.say = [](const std::string& line) { fmt::print(stderr, "  {}\n", line); };
    worker_.emplace(place_, key_, place_.OpenIdentity().value(), home.LinksFor(key_), MakeTestCompute, craft, options);
    if (start) thread_ = std::thread([this] { status_ = worker_->Run(); });
  }
  ~Running() { Stop(); }
  void Stop() {
    worker_->Stop();
    Join();
  }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  const Status& status() const { return status_; }
  const Workplace& place() const { return place_; }
  const SigningKey& key() const { return key_; }

 private:
  Workplace place_;
  SigningKey key_;
  std::optional<Worker> worker_;
  Status status_;
  std::thread thread_;
};

class WorkerTest : public testing::Test {
 protected:
  static Digest JobIdOf(const std::string& toml) { return Prepare(ParseJob(toml, "job.toml").value())->identity.job; }

  life::Order MakeOrder(const std::string& id_digit, const life::Policy& policy, const std::string& toml = kJob) {
    life::Order order;
    order.id = std::string(32, id_digit[0]);
    order.job = JobIdOf(toml);
    order.policy = policy;
    order.made = 1;
    order.files = {home_.AddBlob("job.toml", BytesOfText(toml))};
    return order;
  }
  // The same, sealed to these workers.
  life::Order MakeSealed(const std::string& id_digit, const life::Policy& policy, const std::vector<const Running*>& workers,
                         const Recipient& reply, const std::string& toml = kJob) {
    life::Order order = MakeOrder(id_digit, policy, toml);
    order.client = home_.client().verify_key().ToString();
    order.reply = reply.ToString();
    std::vector<Recipient> recipients;
    for (const Running* worker : workers) {
      recipients.push_back(worker->place().OpenIdentity().value()->recipient());
      order.sealed.push_back(recipients.back().ToString());
    }
    Bytes sealed;
    const auto binding = Seal(SpanSource(AsBytes(toml)), recipients, [&](ByteSpan piece) {
      sealed.insert(sealed.end(), piece.begin(), piece.end());
      return Status();
    });
    order.files = {home_.AddBlob("job.toml", sealed)};
    order.files[0].bound = life::BoundOf(binding.value(), order, order.files[0]);
    return order;
  }
  bool Decided(const std::string& order) {
    return home_.WaitFor([&] { return home_.IsDecided(order); });
  }

  void Cancel(const std::string& order) { home_.Cancel(order); }

  testkit::Scratch scratch_;
  FakeCoordinator home_;
  Craft honest_;
};

TEST_F(WorkerTest, TwoHonestWorkersAgreeAndEndOnce) {
  const auto told = [&] {
    return std::ranges::any_of(home_.samples, [](const Sample& sample) { return sample.phase == "train" && sample.step > 0; });
  };
  PatientCraft patient(honest_, [&] { EXPECT_TRUE(home_.WaitFor(told)) << "nothing is told while it trains"; });
  const life::Order order = MakeOrder("a", {.replicas = 2});
  home_.Submit(order);
  Running one(home_, scratch_ / "one", patient, {.once = true});
  Running two(home_, scratch_ / "two", patient, {.once = true});
  ASSERT_TRUE(Decided(order.id));
  EXPECT_EQ(home_.LifeOf(order.id).decision()->verdict, life::Verdict::kVerified);
  one.Join();  // by itself, once it hears of the decision
  two.Join();
  EXPECT_TRUE(one.status()) << one.status().error().message;
  EXPECT_TRUE(one.place().Orders()->empty()) << "what was decided is kept";
  EXPECT_GE(home_.commits, 2);
  // What is told is what the run keeps.
  EXPECT_TRUE(
      std::ranges::any_of(home_.samples, [](const Sample& sample) { return sample.index > 0 && sample.chain.size() == 64; }));
}

TEST_F(WorkerTest, StoppedAnywhereItGoesOnToTheSameReceipt) {
  home_.lease_ms = 60'000;
  const life::Order order = MakeOrder("a", {.replicas = 2});
  home_.Submit(order);
  SlowCraft slow(40);
  for (int round = 0; round < 3; ++round) {
    const int before = slow.steps;
    Running part(home_, scratch_ / "one", slow);
    while (slow.steps == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    part.Stop();
  }
  EXPECT_FALSE(home_.HasRun(order.id)) << "it was not stopped on its way";
  Running last(home_, scratch_ / "one", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
  last.Stop();
  // The same key without any interruption.
  auto prepared = Prepare(ParseJob(kJob, "job.toml").value());
  const Compute compute = MakeTestCompute(prepared->job).value();
  ASSERT_TRUE(honest_.Train(*prepared, scratch_ / "whole", last.key(), compute, {}));
  const Bytes receipt = ReadFile(scratch_ / "whole/receipt.json", 1 << 16).value();
  EXPECT_EQ(home_.LifeOf(order.id).Find(1)->receipt_file, std::string(receipt.begin(), receipt.end()));
}

TEST_F(WorkerTest, ALeaseThatIsOverStopsTheTrainingAtOnce) {
  const life::Order order = MakeOrder("a", {.replicas = 2});
  home_.Submit(order);
  SlowCraft slow(100);
  Running worker(home_, scratch_ / "one", slow);
  while (slow.steps < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  home_.TakeAway(order.id, 1);
  for (int i = 0; i < 200 && !worker.place().Leases()->empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(worker.place().Leases()->empty()) << "its files are kept";
  EXPECT_LT(slow.steps, 9);
  EXPECT_FALSE(home_.HasRun(order.id));
}

TEST_F(WorkerTest, TrainsOnWhileTheCoordinatorIsAway) {
  home_.lease_ms = 60'000;
  const life::Order order = MakeOrder("a", {.replicas = 2});
  home_.Submit(order);
  SlowCraft slow(10);
  Running worker(home_, scratch_ / "one", slow);
  while (slow.steps < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  home_.SetReachable(false);
  while (slow.steps < 9) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  home_.SetReachable(true);
  EXPECT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
}

TEST_F(WorkerTest, GoesOnWithACoordinatorThatWasRestoredFromABackup) {
  home_.lease_ms = 60'000;
  const life::Order order = MakeOrder("a", {.replicas = 2});
  home_.Submit(order);
  SlowCraft slow(40);
  {
    Running worker(home_, scratch_ / "one", slow);
    ASSERT_TRUE(home_.WaitFor([&] { return home_.commits >= 1; }));
    const int known = home_.BackUp();
    ASSERT_TRUE(home_.WaitFor([&] { return home_.commits > known || home_.HasRun(order.id); }));
    home_.Restore();
    ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); })) << "commitments that the coordinator has lost";
  }
  // Delivered, and lost with all its files: nothing is trained again.
  const int steps = slow.steps;
  home_.Restore();
  Running again(home_, scratch_ / "one", slow);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); })) << "a result that the coordinator has lost";
  EXPECT_EQ(slow.steps, steps);
  EXPECT_TRUE(home_.given_back.empty());
}

TEST_F(WorkerTest, HandsOverAResultAgainWhenTheCoordinatorIsRestoredInBetween) {
  home_.lease_ms = 60'000;
  const life::Order order = MakeOrder("a", {.replicas = 2});
  home_.Submit(order);
  SlowCraft slow(20);
  Running worker(home_, scratch_ / "one", slow);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasLease(order.id); }));
  home_.BackUp();
  home_.RestoreAtDelivery();
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id) || !home_.given_back.empty(); }));
  EXPECT_TRUE(home_.given_back.empty()) << home_.given_back[0].words;
  EXPECT_GE(home_.commits, 2) << "nothing was lost with the coordinator";
}

TEST_F(WorkerTest, KeepsARunWhoseArrivalItWasNotToldOf) {
  home_.lease_ms = 60'000;
  const life::Order first = MakeOrder("a", {.replicas = 2}), second = MakeOrder("b", {.replicas = 2});
  home_.SetMuteAtDelivery(true);
  home_.Submit(first);
  Running worker(home_, scratch_ / "one", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(first.id); }));
  home_.Submit(second);  // whose lease tells the worker that the first one is over
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(second.id); }));
  const auto leases = worker.place().Leases();
  ASSERT_TRUE(leases);
  EXPECT_TRUE(std::ranges::any_of(*leases, [&](const LeaseName& name) { return name.order == first.id; }))
      << "nobody could answer for it in a dispute";
}

TEST_F(WorkerTest, GivesBackWhatDoesNotFit) {
  const auto words_for = [&](const std::string& digit, const life::LeaseLimits& limits, Craft& craft) {
    life::Order order = MakeOrder(digit, {.replicas = 1, .audit = 100});
    order.limits = limits;
    home_.Submit(order);
    home_.given_back.clear();
    Running worker(home_, scratch_ / ("w" + digit), craft);
    EXPECT_TRUE(home_.WaitFor([&] { return !home_.given_back.empty(); }));
    worker.Stop();
    EXPECT_TRUE(worker.place().Orders()->empty());
    if (home_.given_back.empty()) return std::string();
    EXPECT_EQ(home_.given_back[0].why, life::Ending::kGivenBack);
    const std::string words = home_.given_back[0].words;
    Cancel(order.id);
    return words;
  };
  SlowCraft slow(300);
  EXPECT_TRUE(words_for("a", {.memory = 1000}, honest_).starts_with("memory: the work takes"));
  EXPECT_TRUE(words_for("b", {.disk = 1000}, honest_).starts_with("disk: the work takes"));
  EXPECT_TRUE(words_for("c", {.seconds = 1}, slow).starts_with("time: 1 s have passed"));
}

// A file that is small, or just not looked at yet, may announce more than there is room for: nothing is loaded then, and nothing else about the job is said.
TEST_F(WorkerTest, GivesBackDataThatDoesNotFitBeforeItIsLoaded) {
  constexpr std::size_t kRows = 1 << 12, kColumns = 1 << 10;
  const Bytes data =
      testkit::Zip({{.name = "x.npy",
                     .bytes = testkit::Npy("<f4", fmt::format("({}, {})", kRows, kColumns), Bytes(4 * kRows * kColumns, 0)),
                     .deflated = true},
                    {.name = "y.npy", .bytes = testkit::Npy("<i8", fmt::format("({},)", kRows), Bytes(8 * kRows, 0))}});
  life::Order order = MakeOrder("a", {.replicas = 2});
  order.files = {home_.AddBlob("d.npz", data), home_.AddBlob("job.toml", BytesOfText(kArrays))};
  order.job = {};
  home_.Submit(order);
  Running worker(home_, scratch_ / "one", honest_, {.offered = {.memory = 8 << 20}});
  ASSERT_TRUE(home_.WaitFor([&] { return !home_.given_back.empty(); }));
  worker.Stop();
  EXPECT_EQ(home_.given_back[0].why, life::Ending::kGivenBack);
  EXPECT_TRUE(home_.given_back[0].words.starts_with("memory: the work takes ")) << home_.given_back[0].words;
  EXPECT_TRUE(home_.given_back[0].words.ends_with(", and may take 8.00 MiB")) << home_.given_back[0].words;
}

TEST_F(WorkerTest, FailsWhatIsAnotherJobOrLeadsElsewhere) {
  const auto words_for = [&](const std::string& digit, const std::string& toml, const Digest& job) {
    life::Order order = MakeOrder(digit, {.replicas = 1, .audit = 100});
    order.files = {home_.AddBlob("job.toml", BytesOfText(toml))};
    order.job = job;
    home_.Submit(order);
    home_.given_back.clear();
    Running worker(home_, scratch_ / ("w" + digit), honest_);
    EXPECT_TRUE(home_.WaitFor([&] { return !home_.given_back.empty(); }));
    worker.Stop();
    EXPECT_EQ(home_.given_back[0].why, life::Ending::kFailed);
    const std::string words = home_.given_back[0].words;
    Cancel(order.id);
    return words;
  };
  EXPECT_NE(words_for("a", kJob, HashBytes({})).find("the order is for"), std::string::npos);
  std::ofstream(scratch_ / "secret.txt") << "to be or not to be, that is the question here\n";
  EXPECT_NE(words_for("b", kElsewhere, JobIdOf(kJob)).find("which is not a file of the order"), std::string::npos);
}

TEST_F(WorkerTest, OpensSealedOrdersAndSealsWhatComesOfThem) {
  if (!seal::CanSeal()) GTEST_SKIP();
  Running other(home_, scratch_ / "one", honest_, {}, false);
  const Identity client = Identity::Generate().value();
  const life::Order order = MakeSealed("a", {.replicas = 2}, {&other}, client.recipient());
  home_.Submit(order);
  SlowCraft craft;
  std::thread running;
  {
    // The same folder, with its identity.
    Status ran;
    Worker worker(other.place(), other.key(), other.place().OpenIdentity().value(), home_.LinksFor(other.key()),
                  MakeTestCompute, craft, {});
    running = std::thread([&] { ran = worker.Run(); });
    ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
    // Answers are for the client alone.
    home_.Ask({.id = "q1", .order = order.id, .kind = "job"});
    ASSERT_TRUE(home_.WaitFor([&] { return home_.AnswerToLocked("q1"); }));
    worker.Stop();
    running.join();
  }
  const auto open = [&](const Bytes& bytes) {
    Bytes plain;
    const Status opened = Unseal(
        SpanSource(bytes), std::span(&client, 1),
        [&](ByteSpan piece) {
          plain.insert(plain.end(), piece.begin(), piece.end());
          return Status();
        },
        "x");
    EXPECT_TRUE(opened) << opened.error().message;
    return plain;
  };
  const auto answer = home_.AnswerTo("q1");
  ASSERT_TRUE(answer && *answer);
  EXPECT_FALSE(open(**answer).empty());
  const auto& files = home_.run_files[order.id];
  const auto model = std::ranges::find(files, "model.safetensors", &life::OrderFile::name);
  ASSERT_NE(model, files.end());
  const Bytes plain = open(home_.Blob(model->sha256));
  EXPECT_EQ(HashBytes(plain), home_.LifeOf(order.id).Find(1)->receipt->model);
  EXPECT_EQ(static_cast<std::int64_t>(plain.size()), home_.LifeOf(order.id).Find(1)->model_bytes);
}

// Whoever has the sealed bytes of somebody's order could otherwise have the job trained, and its model sealed to themselves.
TEST_F(WorkerTest, RefusesSealedFilesThatWereSealedForAnotherOrder) {
  if (!seal::CanSeal()) GTEST_SKIP();
  Running worker(home_, scratch_ / "one", honest_, {}, false);
  const Identity client = Identity::Generate().value(), thief = Identity::Generate().value();
  const life::Order theirs = MakeSealed("a", {.replicas = 2}, {&worker}, client.recipient());
  const auto refused = [&](const std::string& digit, const auto& change) {
    life::Order order = theirs;
    order.id = std::string(32, digit[0]);
    change(order);
    home_.given_back.clear();
    home_.Submit(order);
    Running again(home_, scratch_ / ("thief" + digit), honest_, {}, false);
    // The same identity in a folder of its own.
    std::filesystem::copy_file(scratch_ / "one/identity", scratch_ / ("thief" + digit + "/identity"),
                               std::filesystem::copy_options::overwrite_existing);
    Worker running(again.place(), again.key(), again.place().OpenIdentity().value(), home_.LinksFor(again.key()),
                   MakeTestCompute, honest_, {});
    std::thread thread([&] { (void)running.Run(); });
    EXPECT_TRUE(home_.WaitFor([&] { return !home_.given_back.empty() || home_.HasRun(order.id); }));
    running.Stop();
    thread.join();
    EXPECT_TRUE(again.place().Orders()->empty()) << "something of it is kept";
    Cancel(order.id);
    ASSERT_EQ(home_.given_back.size(), 1U);
    EXPECT_EQ(home_.given_back[0].words, "its files cannot be opened, or were not sealed for it");
    EXPECT_EQ(home_.given_back[0].why, life::Ending::kFailed);
  };
  refused("b", [&](life::Order& order) { order.reply = thief.recipient().ToString(); });
  refused("c", [](life::Order&) {});
  refused("d", [](life::Order& order) { order.files[0].bound = HashBytes({}).hex(); });
  refused("a", [&](life::Order& order) { order.reply = thief.recipient().ToString(); });
}

// Files that were opened for one order lie in a folder under its id.
TEST_F(WorkerTest, OneOrderUnderOneId) {
  const Workplace place = Workplace::Open(scratch_ / "one").value();
  const std::string id(32, 'a');
  const auto first = LeaseFolder::Open(place, {.name = {id, 1}}).value(),
             second = LeaseFolder::Open(place, {.name = {id, 2}}).value();
  EXPECT_TRUE(first.KeepOrder("envelope"));
  EXPECT_TRUE(second.KeepOrder("envelope"));
  EXPECT_FALSE(second.KeepOrder("another"));
}

TEST_F(WorkerTest, AShareOfADrawIsTheSameAfterARestart) {
  const Workplace place = Workplace::Open(scratch_ / "one").value();
  const GivenLease lease{.name = {std::string(32, 'a'), 1}, .role = life::Role::kAudit};
  const std::string share = LeaseFolder::Open(place, lease)->Share().value();
  EXPECT_TRUE(Digest::FromHex(share));
  EXPECT_EQ(LeaseFolder::Open(place, lease)->Share().value(), share);
  EXPECT_NE(LeaseFolder::Open(place, {.name = {std::string(32, 'b'), 1}})->Share().value(), share);
}

// Of a sealed order the coordinator learns that a run is refuted and where, and nothing of what the job says there.
TEST_F(WorkerTest, TellsNothingOfASealedOrderButHowFarItIs) {
  if (!seal::CanSeal()) GTEST_SKIP();
  Liar liar;
  PatientCraft patient(liar, [&] { EXPECT_TRUE(home_.WaitFor([&] { return !home_.samples.empty(); })); });
  const Identity client = Identity::Generate().value();
  life::Order order;
  {
    const Running one(home_, scratch_ / "one", liar, {}, false), two(home_, scratch_ / "two", honest_, {}, false);
    order = MakeSealed("a", {.replicas = 1, .audit = 100}, {&one, &two}, client.recipient());
  }
  home_.Submit(order);
  Running one(home_, scratch_ / "one", patient);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
  Running two(home_, scratch_ / "two", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.Finding(order.id, 2).has_value(); }));
  const auto reports = home_.Events<life::Audited>(order.id);
  ASSERT_EQ(reports.size(), 1U);
  const auto report = life::OpenReport(reports[0].report, two.key().verify_key(), "report");
  EXPECT_EQ(report->finding, life::Finding::kRefuted);
  EXPECT_TRUE(report->words == "refuted" || report->words.starts_with("refuted at step ")) << report->words;
  EXPECT_LT(report->words.size(), 30U);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.LifeOf(order.id).Runs(life::Lease::State::kHeld).size() == 2; }));
  two.Stop();
  one.Stop();
  EXPECT_FALSE(home_.samples.empty());
  for (const Sample& sample : home_.samples) {
    EXPECT_TRUE(sample.sealed);
    EXPECT_EQ(sample.loss, 0);
    EXPECT_EQ(sample.rate, 0);
    EXPECT_EQ(sample.memory, 0);
  }
}

// Who could have a run audited twice by one auditor could throw the first report away.
TEST_F(WorkerTest, ReportsOnceOnAnOrder) {
  const life::Order order = MakeOrder("a", {.replicas = 1, .audit = 100});
  home_.Submit(order);
  Running one(home_, scratch_ / "one", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
  one.Stop();
  home_.BackUp();
  const auto audited = [&] {
    Running two(home_, scratch_ / "two", honest_);
    const bool decided = Decided(order.id);
    for (int i = 0; i < 1000 && !two.place().Orders()->empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return decided;
  };
  ASSERT_TRUE(audited());
  const auto first = home_.Events<life::Audited>(order.id);
  home_.Restore();
  ASSERT_TRUE(audited());
  EXPECT_EQ(home_.Events<life::Audited>(order.id), first) << "the same lease, the same report";
  home_.Restore();
  home_.nonces = "others";
  Running two(home_, scratch_ / "two", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return !home_.given_back.empty(); }));
  EXPECT_EQ(home_.given_back[0].words, "this worker has reported on the order already");
  EXPECT_FALSE(home_.IsDecided(order.id));
}

TEST_F(WorkerTest, AuditsHonestRuns) {
  const life::Order order = MakeOrder("a", {.replicas = 1, .audit = 100});
  home_.Submit(order);
  Running one(home_, scratch_ / "one", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
  Running two(home_, scratch_ / "two", honest_);
  ASSERT_TRUE(Decided(order.id));
  EXPECT_EQ(home_.LifeOf(order.id).decision()->verdict, life::Verdict::kVerified);
  EXPECT_EQ(home_.LifeOf(order.id).Find(2)->finding, life::Finding::kVerified);
}

// What the coordinator hands out is not what was delivered: nobody's lie.
TEST_F(WorkerTest, ABadCopyIsDamaged) {
  const life::Order order = MakeOrder("a", {.replicas = 1, .audit = 100});
  home_.Submit(order);
  Running one(home_, scratch_ / "one", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
  one.Stop();
  auto& files = home_.run_files[order.id];
  const auto model = std::ranges::find(files, "model.safetensors", &life::OrderFile::name);
  Bytes bytes = home_.Blob(model->sha256);
  bytes.back() ^= 1;
  *model = home_.AddBlob(model->name, bytes);
  Running two(home_, scratch_ / "two", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.Finding(order.id, 2).has_value(); }));
  EXPECT_EQ(home_.Finding(order.id, 2), life::Finding::kDamaged);
  const auto reports = home_.Events<life::Audited>(order.id);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(life::OpenReport(reports[0].report, two.key().verify_key(), "report")->words.find(scratch_.path()),
            std::string::npos)
      << "strangers learn where things lie here";
}

// A run with another learning rate is refuted, and the auditor makes good for it with a run of its own.
TEST_F(WorkerTest, RefutesALieAndBacksItWithARun) {
  Liar liar;
  const life::Order order = MakeOrder("a", {.replicas = 1, .audit = 100});
  home_.Submit(order);
  Running one(home_, scratch_ / "one", liar);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(order.id); }));
  Running two(home_, scratch_ / "two", honest_);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.LifeOf(order.id).Runs(life::Lease::State::kHeld).size() == 2; }));
  EXPECT_EQ(home_.Finding(order.id, 2), life::Finding::kRefuted);
  EXPECT_EQ(home_.LifeOf(order.id).Find(3)->challenges, 2);
}

TEST_F(WorkerTest, AnswersQuestionsWhileItTrainsSomethingElse) {
  const life::Order first = MakeOrder("a", {.replicas = 2}), second = MakeOrder("b", {.replicas = 2});
  home_.Submit(first);
  SlowCraft slow(100);
  Running worker(home_, scratch_ / "one", slow);
  ASSERT_TRUE(home_.WaitFor([&] { return home_.HasRun(first.id); }));
  home_.Submit(second);
  while (slow.steps < 10) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  home_.Ask({.id = "q1", .order = first.id, .kind = "receipt"});
  home_.Ask({.id = "q2", .order = first.id, .kind = "answer", .body = {1, 2, 3}});
  ASSERT_TRUE(home_.WaitFor([&] { return home_.AnswerToLocked("q1") && home_.AnswerToLocked("q2"); }));
  EXPECT_FALSE(home_.HasRun(second.id)) << "the answers came after the training";
  const auto receipt = home_.AnswerTo("q1");
  ASSERT_TRUE(*receipt);
  EXPECT_EQ(std::string((*receipt)->begin(), (*receipt)->end()), home_.LifeOf(first.id).Find(1)->receipt_file);
  const auto nonsense = home_.AnswerTo("q2");
  ASSERT_FALSE(*nonsense);
  EXPECT_EQ(nonsense->error().kind, NoAnswer::Kind::kNever);
}

}  // namespace
}  // namespace assay::worker
