#include "simulation.h"

#include <algorithm>
#include <map>
#include <queue>
#include <random>

#include "toy.h"
#include "toy_evidence.h"

namespace assay::dispute {
namespace {

constexpr std::int64_t kCompute = 200;  // ms, at most, to answer
constexpr std::size_t kMaxEvents = 2'000'000;
constexpr int kMaxLost = 2;  // of an honest party's messages, one after the other

// std:: distributions differ between libraries; this does not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t Below(std::uint64_t n) { return engine_() % n; }
  bool One(std::uint64_t in) { return Below(in) == 0; }
  std::int64_t Ms(std::int64_t most) { return 1 + static_cast<std::int64_t>(Below(static_cast<std::uint64_t>(most))); }

 private:
  std::mt19937_64 engine_;
};

class Simulation {
 public:
  Simulation(const Scenario& scenario, std::uint64_t seed) : scenario_(scenario), dice_(seed) {
    for (const Actor& actor : scenario.actors) claims_.push_back(actor.claim);
    parties_.resize(scenario.actors.size());
    lossy_ = dice_.Below(3);
    crashing_ = dice_.One(3);
    clocks_ = {.allowance_ms = 900'000, .rerun_ms = 0, .patience_ms = 5'000, .resend_ms = 3'000};
    if (dice_.One(4)) clocks_.patience_ms = 2'000'000;
  }

  Simulated Run() {
    referee_.emplace(scenario_.law, claims_, clocks_);
    Feed(Started{Clock()});
    if (crashing_) {
      At(dice_.Ms(3000), [this] { CrashReferee(); });
      for (ProviderId id = 0; id < parties_.size(); ++id) {
        if (dice_.One(2)) At(dice_.Ms(4000), [this, id] { CrashProvider(id); });
      }
    }
    Wake();
    while (!referee_ || !referee_->done()) {
      if (++result_.events > kMaxEvents) return Fail("it does not end");
      if (queue_.empty()) return Fail("everybody waits");
      auto next = queue_.top();
      queue_.pop();
      now_ms_ = next.at;
      (*next.what)();
      if (!result_.problem.empty()) return std::move(result_);
    }
    Check();
    return std::move(result_);
  }

 private:
  struct Todo {
    std::int64_t at = 0;
    std::uint64_t order = 0;
    std::shared_ptr<std::function<void()>> what;
    bool operator<(const Todo& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };
  struct PartyState {
    bool down = false;
    int lost[2] = {0, 0};  // messages lost one after the other, there and back
    int crashes = 0;
    std::vector<Bytes> said;  // messages that it has sent
  };

  Simulated Fail(std::string problem) {
    result_.problem = std::move(problem);
    return std::move(result_);
  }

  void At(std::int64_t delay_ms, std::function<void()> what) {
    queue_.push({now_ms_ + delay_ms, order_++, std::make_shared<std::function<void()>>(std::move(what))});
  }

  // The referee's own clock: another one after each restart.
  std::int64_t Clock() const { return now_ms_ + clock_shift_ms_; }

  void Feed(const Event& event) {
    const std::vector<Action> actions = referee_->Handle(event);
    saved_.push_back(Encode(event));
    for (const Action& action : actions) {
      if (const auto* send = std::get_if<Send>(&action)) Carry(*send);
    }
    Wake();
  }

  void Wake() {
    const auto wake = referee_ ? referee_->WakeAt() : std::nullopt;
    if (!wake || *wake == woken_ms_) return;
    woken_ms_ = *wake;
    const std::uint64_t life = lives_;
    At(std::max<std::int64_t>(0, *wake - Clock()), [this, life] {
      if (!referee_ || life != lives_) return;
      woken_ms_ = -1;
      Feed(Tick{Clock()});
    });
  }

  bool Loses(ProviderId id, int way) {
    int& lost = parties_[id].lost[way];
    const bool loses = lossy_ > 0 && dice_.One(lossy_ == 1 ? 20 : 4) && lost < kMaxLost;
    lost = loses ? lost + 1 : 0;
    return loses;
  }

  void Carry(const Send& send) {
    const int copies = lossy_ > 0 && dice_.One(10) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (Loses(send.provider, 0)) continue;
      At(dice_.Ms(lossy_ > 0 ? 800 : 20), [this, send] { Receive(send); });
    }
  }

  void Receive(const Send& send) {
    PartyState& party = parties_[send.provider];
    if (party.down) return;
    const auto addressed = DecodeQuestion(send.question);
    if (!addressed) {
      result_.problem = "a question that cannot be read";
      return;
    }
    const Actor& actor = scenario_.actors[send.provider];
    const Habit habit = actor.habit == Habit::kAnything ? static_cast<Habit>(1 + dice_.Below(kHabits - 2)) : actor.habit;
    std::int64_t delay = dice_.Ms(kCompute);
    if (habit == Habit::kStalling && dice_.One(3)) {
      delay = std::max<std::int64_t>(1, send.deadline_ms - Clock() - 400 + static_cast<std::int64_t>(dice_.Below(800)));
    }
    for (Bytes& message : Messages(actor, habit, send, addressed->question)) {
      party.said.push_back(message);
      At(delay, [this, send, message] {
        if (parties_[send.provider].down) return;
        Return(send.provider, HashBytes(send.question), message);
      });
    }
  }

  std::vector<Bytes> Messages(const Actor& actor, Habit habit, const Send& send, const Question& question) {
    const auto say = [&](const Result<Bytes>& body) { return actor.message(send.question, body ? *body : Bytes{}); };
    Result<Bytes> own = actor.answer(question);
    const auto borrowed = [&] { return scenario_.runs[dice_.Below(scenario_.runs.size())](question); };
    switch (habit) {
      case Habit::kSilent: return {};
      case Habit::kGarbling:
        if (own && !own->empty()) (*own)[dice_.Below(own->size())] ^= static_cast<std::uint8_t>(1 << dice_.Below(8));
        return {say(own)};
      case Habit::kEquivocating: return {say(own), say(borrowed()), actor.message(send.question, {})};
      case Habit::kReplaying: {
        const PartyState& from = parties_[dice_.Below(parties_.size())];
        if (from.said.empty()) return {say(own)};
        return {from.said[dice_.Below(from.said.size())], dice_.One(2) ? say(own) : from.said.front()};
      }
      case Habit::kOversized:
        return {actor.message(send.question, Bytes(dice_.Below(dice_.One(100) ? kMaxAnswerBytes - 300 : 20'000)))};
      case Habit::kBorrowing: return {say(borrowed())};
      default: return {say(own)};
    }
  }

  void Return(ProviderId id, const Digest& question, const Bytes& message) {
    const int copies = lossy_ > 0 && dice_.One(10) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (Loses(id, 1)) continue;
      Bytes sent = message;
      if (lossy_ == 2 && dice_.One(50)) {
        // A corrupted one is as good as lost; the good one is sent along, so that the honest are heard in time.
        sent[dice_.Below(sent.size())] ^= static_cast<std::uint8_t>(1 << dice_.Below(8));
        Arrive(id, question, message);
      }
      Arrive(id, question, std::move(sent));
    }
  }

  void Arrive(ProviderId id, const Digest& question, Bytes message) {
    At(dice_.Ms(lossy_ > 0 ? 800 : 20), [this, id, question, message] {
      if (referee_) Feed(Answered{id, question, message, Clock()});
    });
  }

  // Down for a while; what it was told meanwhile is lost, and perhaps the last things that it had not saved yet.
  void CrashReferee() {
    if (!referee_) return;
    ++result_.crashes;
    const Bytes before = referee_->Dump();
    const bool whole = dice_.One(2);
    if (!whole && saved_.size() > 1) saved_.resize(saved_.size() - std::min<std::size_t>(saved_.size() - 1, dice_.Below(4)));
    referee_.reset();
    ++lives_;
    At(dice_.Ms(2'000'000), [this, before, whole] {
      referee_.emplace(scenario_.law, claims_, clocks_);
      for (const Bytes& event : saved_) {
        const auto read = DecodeEvent(event);
        if (!read) {
          result_.problem = "a saved event that cannot be read";
          return;
        }
        referee_->Handle(*read);
      }
      if (whole && referee_->Dump() != before) result_.problem = "the saved referee is another";
      clock_shift_ms_ = -now_ms_ + static_cast<std::int64_t>(dice_.Below(1000));
      woken_ms_ = -1;
      if (referee_->done()) return;
      Feed(Resumed{Clock()});
      if (dice_.One(3) && result_.crashes < 4) At(dice_.Ms(5000), [this] { CrashReferee(); });
    });
  }

  void CrashProvider(ProviderId id) {
    PartyState& party = parties_[id];
    if (party.down || ++party.crashes > 3) return;
    ++result_.crashes;
    party.down = true;
    At(dice_.Ms(20'000), [this, id] {
      parties_[id].down = false;
      if (dice_.One(2)) At(dice_.Ms(20'000), [this, id] { CrashProvider(id); });
    });
  }

  void Check() {
    const Record& record = referee_->record();
    result_.time_ms = now_ms_;
    result_.matches = record.matches.size();
    for (const ProviderRecord& provider : record.providers) result_.standings.push_back(provider.standing);
    std::optional<std::uint32_t> group;
    for (ProviderId id = 0; id < parties_.size(); ++id) {
      if (scenario_.actors[id].habit != Habit::kHonest) continue;
      group = record.providers[id].group;
      if (record.providers[id].standing != Standing::kStanding) {
        result_.problem = fmt::format("the honest provider {} is {}: {}", id, ToString(record.providers[id].standing),
                                      record.providers[id].why);
        return;
      }
    }
    std::map<std::uint32_t, std::size_t> played;
    for (const MatchRecord& match : record.matches) {
      result_.rounds += match.rounds;
      result_.bouts += match.bouts;
      for (const std::uint32_t side : match.groups) ++played[side];
    }
    std::size_t most = 0;
    while ((std::size_t{1} << most) < record.groups.size()) ++most;
    for (const auto& [side, matches] : played) {
      if (matches > most)
        result_.problem = fmt::format("group {} plays {} matches of {} groups", side, matches, record.groups.size());
    }
    if (record.matches.size() + 1 > std::max<std::size_t>(1, record.groups.size())) result_.problem = "too many matches";
    for (ProviderId id = 0; group && id < parties_.size(); ++id) {
      if (record.providers[id].group != group && record.providers[id].standing == Standing::kStanding) {
        result_.problem = fmt::format("provider {} claims something else and stands", id);
      }
    }
    if (!result_.problem.empty()) return;
    result_.problem = toy::CheckEvidence(*scenario_.law, claims_, record);
    if (scenario_.judge && result_.problem.empty()) result_.problem = scenario_.judge(record);
  }

  const Scenario& scenario_;
  Dice dice_;
  Clocks clocks_;
  std::uint64_t lossy_ = 0;
  bool crashing_ = false;
  std::vector<Claim> claims_;
  std::vector<PartyState> parties_;
  std::optional<Referee> referee_;
  std::vector<Bytes> saved_;
  std::priority_queue<Todo> queue_;
  std::uint64_t order_ = 0, lives_ = 0;
  std::int64_t now_ms_ = 0, clock_shift_ms_ = 500, woken_ms_ = -1;
  Simulated result_;
};

toy::Fault RandomFault(const toy::Shape& shape, Dice& dice) {
  toy::Fault fault{static_cast<toy::Lie>(1 + dice.Below(5)), 1, 0, 1 + static_cast<std::uint32_t>(dice.Below(3))};
  const bool of_a_node = fault.lie == toy::Lie::kOutput || fault.lie == toy::Lie::kInput;
  if (of_a_node || fault.lie == toy::Lie::kResult) {
    fault.step += static_cast<std::int64_t>(dice.Below(static_cast<std::uint64_t>(shape.steps)));
  }
  if (of_a_node) fault.node = static_cast<std::uint32_t>(dice.Below(shape.nodes));
  return fault;
}

}  // namespace

Simulated Simulate(const Scenario& scenario, std::uint64_t seed) { return Simulation(scenario, seed).Run(); }

Simulated SimulateToy(std::uint64_t seed) {
  Dice dice(seed ^ 0x746f79);
  static constexpr toy::Shape kShapes[] = {{8, 2, 4}, {8, 1, 4}, {16, 4, 8}, {1, 1, 1}, {4, 4, 2}, {6, 3, 5}, {64, 8, 16}};
  const toy::Shape shape = kShapes[dice.Below(std::size(kShapes))];
  std::vector<std::shared_ptr<const toy::Run>> runs{std::make_shared<toy::Run>(shape, std::vector<toy::Fault>{})};
  const std::uint64_t lies = 1 + dice.Below(4);
  for (std::uint64_t i = 0; i < lies; ++i) {
    std::vector<toy::Fault> faults{RandomFault(shape, dice)};
    if (dice.One(2)) faults.push_back(RandomFault(shape, dice));
    runs.push_back(std::make_shared<toy::Run>(shape, std::move(faults)));
  }
  Scenario scenario{toy::ToyLaw(shape, seed), {}, {}, {}};
  for (const auto& run : runs) scenario.runs.push_back([run](const Question& question) { return run->Answer(question); });
  const std::uint64_t providers = 2 + dice.Below(7), honest = dice.Below(providers);
  for (std::uint32_t id = 0; id < providers; ++id) {
    const bool good = id == honest || dice.One(8);
    const std::size_t which = good ? 0 : dice.Below(runs.size());
    const auto& run = runs[which];
    const Habit habit = good          ? Habit::kHonest
                        : dice.One(2) ? Habit::kConsistent
                                      : static_cast<Habit>(1 + dice.Below(kHabits - 1));
    scenario.actors.push_back({toy::ClaimOf(*run, id), habit, scenario.runs[which], [id](ByteSpan asked, Bytes body) {
                                 const Signature signature = toy::Sign(HashBytes(asked), body, toy::KeyOf(id));
                                 return Encode(Answer{.body = std::move(body), .signature = signature});
                               }});
  }
  return Simulate(scenario, seed);
}

}  // namespace assay::dispute
