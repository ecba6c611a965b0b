// All games of a small size: one honest provider and up to three others, who at every question may say what any of the runs in play would say, or something else, refuse, be
// silent, or say two things. Every state of the real referee that can be reached is visited once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include "assay/base/check.h"
#include "table.h"

namespace assay::dispute::toy {
namespace {

using RunPtr = std::shared_ptr<const Run>;

std::size_t CeilLog2(std::size_t n) {
  std::size_t log = 0;
  while ((std::size_t{1} << log) < n) ++log;
  return log;
}

// Each question about the inside of a tree goes one level below an answered one: the interval shrinks with every round.
void CheckNarrowing(const Question& question, const Testimony& said, std::uint64_t size) {
  const auto* expand = std::get_if<ExpandQuestion>(&question);
  if (expand == nullptr) return;
  LeafSpan span{0, size};
  while (span != expand->span) {
    ASSERT_NE(said.Find(ExpandQuestion{expand->tree, span}), nullptr);
    const std::vector<LeafSpan> halves = Frontier(span, 1);
    ASSERT_EQ(halves.size(), 2u);
    span = expand->span.begin < halves[0].end ? halves[0] : halves[1];
  }
}

std::shared_ptr<const Law> WatchedLaw(const Shape& shape) {
  const std::shared_ptr<const Law> plain = ToyLaw(shape, 1);
  auto law = std::make_shared<Law>(*plain);
  law->examine = [plain, shape](const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b) {
    Outcome outcome = plain->examine(a, b, said_a, said_b);
    if (const auto* asks = std::get_if<std::vector<Ask>>(&outcome.next)) {
      for (const Ask& ask : *asks) {
        const auto* expand = std::get_if<ExpandQuestion>(&ask.question);
        if (expand == nullptr) continue;
        const std::uint64_t size = expand->tree.kind == TreeKind::kLog      ? shape.entries()
                                   : expand->tree.kind == TreeKind::kStates ? static_cast<std::uint64_t>(shape.every)
                                                                            : shape.nodes;
        CheckNarrowing(ask.question, ask.to == Party::kA ? said_a : said_b, size);
      }
    }
    return outcome;
  };
  return law;
}

// A question that somebody has been sent and has not dealt with.
struct Open {
  ProviderId provider = 0;
  Bytes question;
  bool silent = false;
};

class Model {
 public:
  // `others[i]` is the run that provider i claims; `honest` plays by the job.
  Model(const Shape& shape, std::vector<RunPtr> runs, ProviderId honest, bool honest_last, std::int64_t patience_ms)
      : shape_(shape),
        law_(WatchedLaw(shape)),
        runs_(std::move(runs)),
        honest_(honest),
        honest_last_(honest_last),
        patience_ms_(patience_ms) {
    for (ProviderId id = 0; id < runs_.size(); ++id) claims_.push_back(ClaimOf(*runs_[id], id));
    for (const RunPtr& run : runs_) {
      if (std::ranges::none_of(voices_, [&](const RunPtr& known) { return known->receipt() == run->receipt(); })) {
        voices_.push_back(run);
      }
    }
  }

  void Explore() {
    World world{Referee(law_, claims_, {.allowance_ms = 1000, .rerun_ms = 0, .patience_ms = patience_ms_}), {}, 0};
    Do(world, Started{0});
    Visit(std::move(world));
  }

  std::size_t states() const { return seen_.size(); }
  std::size_t games() const { return games_; }

 private:
  struct World {
    Referee referee;
    std::vector<Open> open;
    std::int64_t now_ms = 0;
  };
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const {
      std::size_t hash = 0;
      for (std::size_t i = 0; i < sizeof hash; ++i) hash = hash << 8 | digest.bytes[i];
      return hash;
    }
  };

  void Do(World& world, const Event& event) {
    for (Action& action : world.referee.Handle(event)) {
      if (auto* send = std::get_if<Send>(&action)) world.open.push_back({send->provider, std::move(send->question)});
    }
  }

  bool IsNew(const World& world) {
    ByteWriter out;
    out.Blob(world.referee.DumpOutlook());
    for (const Open& open : world.open) {
      out.U32(open.provider);
      out.Raw(HashBytes(open.question).bytes);
      out.U8(open.silent ? 1 : 0);
    }
    return seen_.insert(HashBytes(out.bytes())).second;
  }

  void Visit(World world) {
    while (!testing::Test::HasFatalFailure() && !testing::Test::HasNonfatalFailure()) {
      if (world.referee.done()) return Check(world);
      if (!IsNew(world)) return;
      const auto honest = std::ranges::find(world.open, honest_, &Open::provider);
      const auto other =
          std::ranges::find_if(world.open, [&](const Open& open) { return open.provider != honest_ && !open.silent; });
      if (honest != world.open.end() && (!honest_last_ || other == world.open.end())) {
        const Open open = *honest;
        world.open.erase(honest);
        const Bytes body = *runs_[honest_]->Answer(DecodeQuestion(open.question)->question);
        Say(world, open, Message(open.question, body, honest_));
      } else if (other != world.open.end()) {
        return Branch(world, static_cast<std::size_t>(other - world.open.begin()));
      } else {
        const auto wake = world.referee.WakeAt();
        ASSERT_TRUE(wake);
        world.now_ms = std::max(world.now_ms, *wake);
        Do(world, Tick{world.now_ms});
      }
    }
  }

  void Say(World& world, const Open& open, Bytes message) {
    Do(world, Answered{open.provider, HashBytes(open.question), std::move(message), world.now_ms});
  }

  // Everything that a liar may do about a question.
  void Branch(const World& world, std::size_t which) {
    const Open open = world.open[which];
    const Question question = DecodeQuestion(open.question)->question;
    std::vector<Bytes> bodies;
    for (const RunPtr& run : voices_) {
      const Result<Bytes> body = run->Answer(question);
      if (body && std::ranges::count(bodies, *body) == 0) bodies.push_back(*body);
    }
    Bytes other = bodies.front();
    other.back() ^= 1;
    bodies.push_back(other);
    const auto branch = [&](const auto& change) {
      World next = world;
      next.open.erase(next.open.begin() + static_cast<std::ptrdiff_t>(which));
      change(next);
      Visit(std::move(next));
    };
    const auto message = [&](const Bytes& body) { return Message(open.question, body, open.provider); };
    for (const Bytes& body : bodies) branch([&](World& next) { Say(next, open, message(body)); });
    branch([&](World& next) { Say(next, open, message({})); });
    branch([&](World& next) {
      Say(next, open, message(bodies.front()));
      Say(next, open, message(other));
    });
    World next = world;
    next.open[which].silent = true;
    Visit(std::move(next));
  }

  void Check(const World& world) {
    const Record& record = world.referee.record();
    if (!seen_.insert(HashBytes(world.referee.Dump())).second) return;
    ++games_;
    const std::uint32_t group = *record.providers[honest_].group;
    ASSERT_EQ(record.providers[honest_].standing, Standing::kStanding) << record.providers[honest_].why;
    for (ProviderId id = 0; id < runs_.size(); ++id) {
      ASSERT_TRUE(record.providers[id].group == group || record.providers[id].standing != Standing::kStanding) << id;
    }
    ASSERT_LE(record.matches.size(), record.groups.size() - 1);
    std::size_t played = 0;
    for (const MatchRecord& match : record.matches) {
      if (match.groups[0] == group || match.groups[1] == group) ++played;
      ASSERT_LE(match.bouts, runs_.size());
      // Narrowing, and one round more for each member that had to be replaced.
      const std::size_t bout =
          CeilLog2(shape_.entries()) + CeilLog2(static_cast<std::size_t>(shape_.every)) + CeilLog2(shape_.nodes) + 12;
      ASSERT_LE(match.rounds, match.bouts * bout + runs_.size());
    }
    ASSERT_LE(played, CeilLog2(record.groups.size()));
    const std::string wrong = CheckEvidence(*law_, claims_, record);
    ASSERT_EQ(wrong, "");
  }

  Shape shape_;
  std::shared_ptr<const Law> law_;
  std::vector<RunPtr> runs_;
  std::vector<RunPtr> voices_;  // the different ones
  ProviderId honest_;
  bool honest_last_;
  std::int64_t patience_ms_;
  std::vector<Claim> claims_;
  std::unordered_set<Digest, DigestHash> seen_;
  std::size_t games_ = 0;
};

class ModelTest : public testing::Test {
 protected:
  static bool Full() { return std::getenv("ASSAY_MODEL_FULL") != nullptr; }

  RunPtr With(const Shape& shape, std::vector<Fault> faults) { return std::make_shared<toy::Run>(shape, std::move(faults)); }

  // Every choice of claims for the others, in every seat of the honest one.
  void All(const Shape& shape, std::size_t others, const std::vector<RunPtr>& runs) {
    std::vector<std::size_t> chosen(others, 0);
    while (true) {
      for (ProviderId seat = 0; seat <= others; ++seat) {
        Play(shape, chosen, runs, seat, false);
        if (Full()) Play(shape, chosen, runs, seat, true);
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
      std::size_t i = 0;
      while (i < others && ++chosen[i] == runs.size()) chosen[i++] = 0;
      if (i == others) return;
    }
  }

  void Play(const Shape& shape, const std::vector<std::size_t>& chosen, const std::vector<RunPtr>& runs, ProviderId seat,
            bool last) {
    std::vector<RunPtr> seated;
    for (const std::size_t which : chosen) seated.push_back(runs[which]);
    seated.insert(seated.begin() + seat, runs.front());
    Model model(shape, seated, seat, last, patience_ms_);
    model.Explore();
    states_ += model.states();
    games_ += model.games();
    std::string claims;
    for (const std::size_t which : chosen) claims += fmt::format(" {}", which);
    if (!HasFatalFailure() && !HasNonfatalFailure()) return;
    ADD_FAILURE() << "the others claim" << claims << ", the honest one sits at " << seat << (last ? ", speaks last" : "");
  }

  ~ModelTest() override { fmt::print("{} states, {} different ends\n", states_, games_); }

  std::int64_t patience_ms_ = 2000;  // more than the clock: nobody else is asked before it has run out
  std::size_t states_ = 0, games_ = 0;
};

// Everybody's first run is the honest one's: others may claim it and play badly.
TEST_F(ModelTest, TwoProvidersEveryLie) {
  for (const Shape& shape : {Shape{8, 2, 4}, Shape{8, 1, 4}, Shape{8, 8, 2}, Shape{1, 1, 1}}) {
    std::vector<RunPtr> runs{With(shape, {}), With(shape, {{Lie::kStart}}), With(shape, {{Lie::kReceipt}})};
    for (std::int64_t step = 1; step <= shape.steps; step += Full() ? 1 : 3) {
      runs.push_back(With(shape, {{Lie::kResult, step}}));
      for (std::uint32_t node = 0; node < shape.nodes; ++node) {
        for (const std::uint32_t delta : {1u, 2u}) runs.push_back(With(shape, {{Lie::kOutput, step, node, delta}}));
        runs.push_back(With(shape, {{Lie::kInput, step, node, 1}}));
      }
    }
    All(shape, 1, runs);
  }
}

// The honest run, two that share a lie and part later, one with another lie in the same step, one with another kind of lie elsewhere.
std::vector<RunPtr> SomeRuns(const Shape& shape) {
  const auto with = [&](std::vector<Fault> faults) { return std::make_shared<toy::Run>(shape, std::move(faults)); };
  const std::int64_t step = shape.steps / 2;
  const Fault early{Lie::kOutput, step, 1, 1}, late{Lie::kInput, shape.steps, 0, 1};
  return {with({}), with({early}), with({early, late}), with({{Lie::kResult, shape.steps}}),
          with({{Lie::kOutput, step, 1, 2}})};
}

TEST_F(ModelTest, ThreeProviders) {
  const Shape shape = Full() ? Shape{8, 2, 4} : Shape{2, 1, 2};
  std::vector<RunPtr> runs = SomeRuns(shape);
  if (!Full()) runs.resize(3);
  All(shape, 2, runs);
}

// Silent ones are not waited for: others are asked as well.
TEST_F(ModelTest, ThreeProvidersWithLittlePatience) {
  if (!Full()) GTEST_SKIP() << "ASSAY_MODEL_FULL is not set";
  const Shape shape{4, 2, 2};
  patience_ms_ = 600;
  All(shape, 2, SomeRuns(shape));
}

TEST_F(ModelTest, FourProviders) {
  if (!Full()) GTEST_SKIP() << "ASSAY_MODEL_FULL is not set";
  std::vector<RunPtr> some = SomeRuns({4, 2, 2});
  some.resize(4);
  All({4, 2, 2}, 3, some);
  // The four claims of the largest size, in every order.
  const Shape shape{8, 2, 4};
  const std::vector<RunPtr> runs = SomeRuns(shape);
  std::vector<std::size_t> chosen{1, 2, 3};
  do {
    for (ProviderId seat = 0; seat <= 3; ++seat) Play(shape, chosen, runs, seat, false);
  } while (std::ranges::next_permutation(chosen).found);
}

}  // namespace
}  // namespace assay::dispute::toy
