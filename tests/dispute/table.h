// A table at which a referee and its providers sit: messages are delivered at once and in order, and time goes on only when nobody has anything to say. After every
// game its evidence is judged. For tests.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "assay/dispute/referee.h"
#include "toy.h"
#include "toy_evidence.h"

namespace assay::dispute::toy {

// The messages that a provider sends when it is asked, in their order. None: silence.
using Conduct = std::function<std::vector<Bytes>(ByteSpan bytes, const Question& question)>;

inline Bytes Message(ByteSpan asked, Bytes body, std::uint32_t key) {
  const Signature signature = Sign(HashBytes(asked), body, KeyOf(key));
  return Encode(dispute::Answer{.body = std::move(body), .signature = signature});
}

// Answers by a run.
inline Conduct Plays(std::shared_ptr<const Run> run, std::uint32_t key) {
  return [run, key](ByteSpan asked, const Question& question) -> std::vector<Bytes> {
    Result<Bytes> body = run->Answer(question);
    if (!body) return {};
    return {Message(asked, std::move(*body), key)};
  };
}

// A run with the first fault and a later one, of whatever size, that makes its claim come after the honest one in the order in which claims meet: so the honest one is in the first match.
inline std::shared_ptr<const Run> ComesLater(const Law& law, const Shape& shape, const Fault& first, Fault later) {
  const Digest honest = law.group(ClaimOf(Run(shape, {}), 0));
  while (true) {
    auto run = std::make_shared<const Run>(shape, std::vector{first, later});
    if (honest < law.group(ClaimOf(*run, 0))) return run;
    later.delta += 2;
  }
}

class Table {
 public:
  Table(std::shared_ptr<const Law> law, const Clocks& clocks = {}) : law_(std::move(law)), clocks_(clocks) {}

  ProviderId Add(Claim claim, Conduct conduct) {
    claims_.push_back(std::move(claim));
    conducts_.push_back(std::move(conduct));
    return static_cast<ProviderId>(claims_.size() - 1);
  }
  ProviderId Add(const std::shared_ptr<const Run>& run, std::uint32_t key) { return Add(ClaimOf(*run, key), Plays(run, key)); }

  // Called before each event, with the referee as it is.
  std::function<void(const Referee& referee)> before_each{};

  const Record& Play() {
    referee_ = std::make_unique<Referee>(law_, claims_, clocks_);
    Do(Started{now_ms_});
    for (std::size_t events = 0; !referee_->done(); ++events) {
      if (events > 3'000'000) {
        ADD_FAILURE() << "the game does not end";
        break;
      }
      if (!messages_.empty()) {
        Answered message = std::move(messages_.front());
        messages_.pop_front();
        message.now_ms = now_ms_;
        Do(message);
        continue;
      }
      const std::optional<std::int64_t> wake = referee_->WakeAt();
      if (!wake) {
        ADD_FAILURE() << "the referee waits for nothing";
        break;
      }
      now_ms_ = std::max(now_ms_, *wake);
      Do(Tick{now_ms_});
    }
    EXPECT_EQ(CheckEvidence(*law_, claims_, referee_->record()), "");
    return referee_->record();
  }

  const Record& record() const { return referee_->record(); }
  Referee& referee() { return *referee_; }
  std::int64_t now_ms() const { return handled_ms_; }  // when the referee last heard anything
  std::size_t sent() const { return sent_; }
  const std::vector<Claim>& claims() const { return claims_; }
  Standing standing(ProviderId id) const { return record().providers[id].standing; }
  std::string verdict() const {
    std::vector<Standing> standings;
    std::vector<std::optional<std::uint32_t>> groups;
    std::vector<std::uint32_t> numbers;
    for (const ProviderRecord& provider : record().providers) {
      standings.push_back(provider.standing);
      groups.push_back(provider.group);
      numbers.push_back(static_cast<std::uint32_t>(numbers.size()));
    }
    return VerdictOf(standings, groups, numbers, standings.size() == 2);
  }

 private:
  void Do(const Event& event) {
    if (before_each) before_each(*referee_);
    handled_ms_ = now_ms_;
    for (const Action& action : referee_->Handle(event)) {
      const auto* send = std::get_if<Send>(&action);
      if (send == nullptr) continue;
      ++sent_;
      const auto question = DecodeQuestion(send->question);
      ASSERT_TRUE(question);
      for (Bytes& message : conducts_[send->provider](send->question, question->question)) {
        messages_.push_back({send->provider, HashBytes(send->question), std::move(message)});
      }
    }
  }

  std::shared_ptr<const Law> law_;
  Clocks clocks_;
  std::vector<Claim> claims_;
  std::vector<Conduct> conducts_;
  std::unique_ptr<Referee> referee_;
  std::deque<Answered> messages_;
  std::int64_t now_ms_ = 1000, handled_ms_ = 1000;
  std::size_t sent_ = 0;
};

}  // namespace assay::dispute::toy
