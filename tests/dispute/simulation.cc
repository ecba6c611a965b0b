#include "simulation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>

#include "checks.h"
#include "desk.h"

namespace assay::dispute {
namespace {

constexpr std::int64_t kCompute = 100;  // ms, at most, to answer
constexpr std::int64_t kTransit = 300;  // ms, at most, on the way, where messages get lost
constexpr std::size_t kMaxEvents = 2'000'000;
constexpr int kMaxLost = 2;            // of an honest party's messages, one after the other
constexpr std::size_t kMaxKept = 256;  // of what liars keep of each sort

class Simulation {
 public:
  Simulation(const Scenario& scenario, std::uint64_t seed) : scenario_(scenario), stage_(scenario.stage), dice_(seed) {
    ByteWriter nonce;
    nonce.U64(seed);
    options_.referee = stage_.PointOf(kReferee);
    options_.nonce = HashBytes(nonce.bytes());
    law_ = stage_.LawFor(options_);
    Docket::Options docket{.bout = stage_.bout(), .open_to_all = Times(scenario.open_bouts, stage_.bout())};
    if (scenario.pinned) docket.pinned.push_back(options_.referee);
    if (scenario.pinned && scenario.second) docket.pinned.push_back(stage_.PointOf(kSecondReferee));
    std::vector<Desk*> desks;
    for (const Actor& actor : scenario.actors) {
      claims_.push_back(stage_.Opened(actor.receipt));
      receipts_.push_back(actor.receipt);
      Address& address = addresses_.emplace_back();
      if (actor.habit != Habit::kHonest) continue;
      address.desk = std::make_unique<Desk>(stage_, actor.key, actor.receipt, docket);
      desks.push_back(address.desk.get());
    }
    strangers_.emplace(stage_, dice_, std::move(desks), loot_, scenario.pinned && scenario.second);
    lossy_ = dice_.Below(3);
    crashing_ = dice_.One(3);
    clocks_ = {.allowance_ms = 300'000, .rerun_ms = 0, .patience_ms = 5'000, .resend_ms = 3'000};
    if (dice_.One(4)) clocks_.patience_ms = 2'000'000;
  }

  Simulated Run() {
    referee_.emplace(law_, claims_, clocks_);
    for (std::size_t i = 0; i < addresses_.size(); ++i) addresses_[i].party = referee_->parties()[i];
    MakeOpenings();
    Feed(Started{Clock()});
    Trouble();
    Wake();
    while (!referee_ || !referee_->done()) {
      if (++result_.events > kMaxEvents) Fail("it does not end");
      if (queue_.empty()) Fail("everybody waits");
      if (!result_.problem.empty()) return std::move(result_);
      auto next = queue_.top();
      queue_.pop();
      now_ms_ = next.at;
      (*next.what)();
    }
    result_.deeds = strangers_->deeds();
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
  // Where somebody can be reached.
  struct Address {
    ProviderId party = 0;        // whose claim is handed out there
    std::unique_ptr<Desk> desk;  // of the honest
    Bytes opening;               // of the dispute there; empty: there is nothing to open
    bool opened = false;         // as the referee believes
    bool refuses = false;        // as it was told last
    bool down = false;
    int lost[2] = {0, 0};  // messages lost one after the other, there and back
    int crashes = 0;
    std::vector<Bytes> said;  // messages that it has sent
  };

  void Fail(std::string problem) {
    if (result_.problem.empty()) result_.problem = std::move(problem);
  }

  void MakeOpenings() {
    const Record& record = referee_->record();
    if (record.parties < 2) return;
    Opening opening{.referee = options_.referee, .nonce = options_.nonce, .receipts = record.receipts, .shown = {}};
    opening.parties = static_cast<std::uint32_t>(record.parties);
    std::ranges::sort(opening.receipts, {}, &Digest::bytes);
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      for (std::size_t j = 0; j < addresses_.size() && addresses_[i].opening.empty(); ++j) {
        if (law_->group(claims_[i]) == law_->group(claims_[j])) continue;
        opening.shown = receipts_[j];
        Bytes bytes = Encode(opening);
        const Signature signature = stage_.SignOpening(bytes, kReferee);
        bytes.insert(bytes.end(), signature.begin(), signature.end());
        addresses_[i].opening = std::move(bytes);
      }
    }
  }

  // What is going to happen beside the dispute.
  void Trouble() {
    for (ProviderId id = 0; id < addresses_.size(); ++id) {
      if (crashing_ && dice_.One(2)) At(dice_.Ms(4000), [this, id] { Crash(id); });
    }
    if (crashing_) At(dice_.Ms(3000), [this] { CrashReferee(); });
    for (std::size_t i = dice_.Below(scenario_.acts + 1); i > 0; --i) {
      At(dice_.Ms(20'000), [this] { strangers_->Act(referee_ ? referee_->record().dispute : Digest{}); });
    }
    for (std::size_t i = 0; i < scenario_.games; ++i) {
      At(dice_.Ms(20'000), [this] { StrangersGame(); });
    }
  }

  void StrangersGame() {
    if (std::string wrong = strangers_->Referee(); !wrong.empty()) Convicted(std::move(wrong));
  }

  void At(std::int64_t delay_ms, std::function<void()> what) {
    queue_.push({now_ms_ + delay_ms, order_++, std::make_shared<std::function<void()>>(std::move(what))});
  }

  // The referee's own clock: another one after each restart.
  std::int64_t Clock() const { return now_ms_ + clock_shift_ms_; }

  void Feed(const Event& event) {
    const std::vector<Action> actions = referee_->Handle(event);
    if (crashing_) saved_.push_back(Encode(event));
    for (const Action& action : actions) {
      if (const auto* send = std::get_if<Send>(&action)) Spread(*send);
    }
    Wake();
  }

  void Wake() {
    const auto wake = referee_ ? referee_->WakeAt() : std::nullopt;
    if (!wake || *wake == woken_ms_) return;
    woken_ms_ = *wake;
    At(std::max<std::int64_t>(0, *wake - Clock()), [this, life = lives_, at = *wake] {
      if (!referee_ || life != lives_ || at != woken_ms_) return;
      woken_ms_ = -1;
      Feed(Tick{Clock()});
    });
  }

  bool Loses(ProviderId id, int way) {
    int& lost = addresses_[id].lost[way];
    const bool loses = lossy_ > 0 && dice_.One(lossy_ == 1 ? 20 : 4) && lost < kMaxLost;
    lost = loses ? lost + 1 : 0;
    return loses;
  }
  std::int64_t Way() { return dice_.Ms(lossy_ > 0 ? kTransit : 20); }

  // To everybody who hands out the party's receipt.
  void Spread(const Send& send) {
    for (ProviderId id = 0; id < addresses_.size(); ++id) {
      if (addresses_[id].party == send.provider) Carry(id, send);
    }
  }

  void Carry(ProviderId id, const Send& send) {
    const bool opens = !addresses_[id].opened;
    addresses_[id].opened = true;
    const int copies = lossy_ > 0 && dice_.One(10) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (Loses(id, 0)) continue;
      At(Way(), [this, id, send, opens] { Receive(id, send, opens); });
    }
  }

  const Signature& SignatureOf(ProviderId id, const Bytes& question) {
    const Digest& receipt = claims_[id].receipt_hash;
    const auto [found, fresh] = signatures_.try_emplace({HashBytes(question), receipt});
    if (fresh) found->second = stage_.SignQuestion(question, receipt, kReferee);
    return found->second;
  }

  void Receive(ProviderId id, const Send& send, bool opens) {
    Address& address = addresses_[id];
    if (address.down) return;
    if (address.desk) return Attend(id, send, opens);
    const auto addressed = DecodeQuestion(send.question);
    if (!addressed) return Fail("a question that cannot be read");
    if (loot_.questions.size() < kMaxKept) loot_.questions.emplace_back(send.question, SignatureOf(id, send.question));
    if (loot_.openings.size() < kMaxKept) loot_.openings.push_back(address.opening);
    const Actor& actor = scenario_.actors[id];
    const Habit habit = actor.habit == Habit::kAnything ? static_cast<Habit>(1 + dice_.Below(kHabits - 2)) : actor.habit;
    if (habit == Habit::kRefusing) return Refuse(id);
    std::int64_t delay = dice_.Ms(kCompute);
    if (habit == Habit::kStalling && dice_.One(3)) {
      delay = std::max<std::int64_t>(1, send.deadline_ms - Clock() - 400 + static_cast<std::int64_t>(dice_.Below(800)));
    }
    for (Bytes& message : Messages(actor, habit, send, addressed->question)) Reply(id, delay, send, std::move(message));
  }

  // An honest party. Whom it has named is never turned away.
  void Attend(ProviderId id, const Send& send, bool opens) {
    Address& address = addresses_[id];
    if (opens) {
      if (const auto opened = address.desk->Open(address.opening); !opened) {
        if (scenario_.pinned) return Fail("the dispute is not opened: " + opened.error().why);
        return Refuse(id);
      }
    }
    auto answer = address.desk->Ask(send.question, SignatureOf(id, send.question));
    if (answer) {
      address.refuses = false;
      return Reply(id, dice_.Ms(kCompute), send, Encode(*answer));
    }
    if (answer.error().denial == Denial::kNotOpen) {
      if (Loses(id, 1)) return;
      At(Way(), [this, id, send] {
        addresses_[id].opened = false;
        if (referee_) Carry(id, send);
      });
    } else {
      Fail("the referee is denied an answer: " + answer.error().why);
    }
  }

  // It says so, unless the message is lost; the referee takes it for what the party says only if all its addresses do.
  void Refuse(ProviderId id) {
    addresses_[id].opened = false;
    if (Loses(id, 1)) return;
    At(Way(), [this, id] {
      if (!referee_) return;
      ++result_.refusals;
      addresses_[id].refuses = true;
      const ProviderId party = addresses_[id].party;
      const bool all = std::ranges::all_of(addresses_, [&](const Address& a) { return a.party != party || a.refuses; });
      Feed(Unreachable{party, Clock(), all ? Hope::kNobody : Hope::kFewer});
    });
  }

  void Reply(ProviderId id, std::int64_t delay, const Send& send, Bytes message) {
    auto& said = addresses_[id].said;
    if (said.size() < kMaxKept) said.push_back(message);
    At(delay, [this, id, question = HashBytes(send.question), message = std::move(message)] {
      if (!addresses_[id].down) Return(id, question, message);
    });
  }

  std::vector<Bytes> Messages(const Actor& actor, Habit habit, const Send& send, const Question& question) {
    const auto say = [&](Bytes body) {
      Answer answer{.body = std::move(body), .signature = {}};
      answer.signature = stage_.SignAnswer(send.question, answer.body, actor.poses ? kFirstPuppet : actor.key);
      return Encode(answer);
    };
    const auto by_run = [&](std::size_t run) { return stage_.Answer(run, question).value_or(Bytes{}); };
    const auto borrowed = [&] { return by_run(dice_.Below(stage_.runs())); };
    if (actor.poses && dice_.One(2)) return {Relayed(actor, send)};
    switch (habit) {
      case Habit::kRefusing:
      case Habit::kSilent: return {};
      case Habit::kGarbling: {
        Bytes own = by_run(actor.speaks);
        if (!own.empty()) dice_.Of(own) ^= static_cast<std::uint8_t>(1 << dice_.Below(8));
        return {say(std::move(own))};
      }
      case Habit::kEquivocating: return {say(by_run(actor.speaks)), say(borrowed()), say({})};
      case Habit::kReplaying: {
        const Address& from = dice_.Of(addresses_);
        if (from.said.empty()) return {say(by_run(actor.speaks))};
        return {from.said[dice_.Below(from.said.size())], dice_.One(2) ? say(by_run(actor.speaks)) : from.said.front()};
      }
      case Habit::kOversized: return {say(Bytes(dice_.Below(dice_.One(100) ? kMaxAnswerBytes - 300 : 20'000)))};
      case Habit::kBorrowing: return {say(borrowed())};
      default: return {say(by_run(actor.speaks))};
    }
  }

  // What the one whose receipt it is says to the question, or has said to another.
  Bytes Relayed(const Actor& actor, const Send& send) {
    for (ProviderId id = 0; id < addresses_.size(); ++id) {
      Address& address = addresses_[id];
      if (!address.desk || address.desk->key() != actor.key || address.down) continue;
      if (dice_.One(4) && !address.said.empty()) return dice_.Of(address.said);
      if (const auto answer = address.desk->Ask(send.question, SignatureOf(id, send.question))) return Encode(*answer);
    }
    return {};
  }

  void Return(ProviderId id, const Digest& question, const Bytes& message) {
    const int copies = lossy_ > 0 && dice_.One(10) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      if (Loses(id, 1)) continue;
      Bytes sent = message;
      if (lossy_ == 2 && dice_.One(50) && !sent.empty()) {
        // A corrupted one is as good as lost; the good one is sent along, so that the honest are heard in time.
        dice_.Of(sent) ^= static_cast<std::uint8_t>(1 << dice_.Below(8));
        Arrive(id, question, message);
      }
      Arrive(id, question, std::move(sent));
    }
  }

  void Arrive(ProviderId id, const Digest& question, Bytes message) {
    At(Way(), [this, id, question, message = std::move(message)] {
      if (referee_) Feed(Answered{addresses_[id].party, question, message, Clock()});
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
    for (Address& address : addresses_) address.opened = false;
    At(dice_.Ms(2'000'000), [this, before, whole] { RestoreReferee(before, whole); });
  }

  void RestoreReferee(const Bytes& before, bool whole) {
    referee_.emplace(law_, claims_, clocks_);
    for (const Bytes& event : saved_) {
      const auto read = DecodeEvent(event);
      if (!read) return Fail("a saved event that cannot be read");
      referee_->Handle(*read);
    }
    if (whole && referee_->Dump() != before) Fail("the saved referee is another");
    clock_shift_ms_ = -now_ms_ + static_cast<std::int64_t>(dice_.Below(1000));
    woken_ms_ = -1;
    if (referee_->done()) return;
    Feed(Resumed{Clock()});
    if (dice_.One(3) && result_.crashes < 4) At(dice_.Ms(5000), [this] { CrashReferee(); });
  }

  // It forgets everything, at once or for a while in which it is not there.
  void Crash(ProviderId id) {
    Address& address = addresses_[id];
    if (address.down || ++address.crashes > 4) return;
    ++result_.crashes;
    if (address.desk) {
      ++result_.restarts;
      address.desk->Restart();
    }
    address.down = dice_.One(2);
    if (address.down) At(dice_.Ms(10'000), [this, id] { addresses_[id].down = false; });
    if (dice_.One(2)) At(dice_.Ms(20'000), [this, id] { Crash(id); });
  }

  void Convicted(std::string how) {
    ++result_.honest_convicted;
    Fail(std::move(how));
  }

  void Check() {
    Ended ended{.scenario = scenario_,
                .options = options_,
                .record = referee_->record(),
                .receipts = receipts_,
                .loot = loot_,
                .dice = dice_};
    for (const Address& address : addresses_) {
      ended.parties.push_back(address.party);
      ended.desks.push_back(address.desk.get());
    }
    CheckPlay(ended, result_);
  }

  const Scenario& scenario_;
  const Stage& stage_;
  Dice dice_;
  LawOptions options_;
  std::shared_ptr<const Law> law_;
  Clocks clocks_;
  std::uint64_t lossy_ = 0;
  bool crashing_ = false;
  std::vector<Claim> claims_;
  std::vector<std::string> receipts_;
  std::vector<Address> addresses_;
  Loot loot_;
  std::optional<Strangers> strangers_;
  std::optional<Referee> referee_;
  std::vector<Bytes> saved_;
  std::map<std::pair<Digest, Digest>, Signature> signatures_;  // by question and receipt
  std::priority_queue<Todo> queue_;
  std::uint64_t order_ = 0, lives_ = 0;
  std::int64_t now_ms_ = 0, clock_shift_ms_ = 500, woken_ms_ = -1;
  Simulated result_;
};

}  // namespace

Simulated Simulate(const Scenario& scenario, std::uint64_t seed) { return Simulation(scenario, seed).Run(); }

}  // namespace assay::dispute
