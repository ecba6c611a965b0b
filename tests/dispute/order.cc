#include "order.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "at_once.h"

namespace assay::dispute {
namespace {

// Always the same answer to the same question.
std::vector<Bytes> Say(const Stage& stage, const Actor& actor, ByteSpan asked, const Question& question) {
  Sha256 hash;
  hash.Update(asked);
  hash.Update(stage.PointOf(actor.key));
  const Digest chance = hash.Finish();
  const auto below = [&](std::size_t at, std::size_t n) { return (chance.bytes[at] * 256u + chance.bytes[at + 1]) % n; };
  const auto message = [&](Result<Bytes> body) -> std::vector<Bytes> {
    if (!body) return {};
    Answer answer{.body = std::move(*body), .signature = {}};
    answer.signature = stage.SignAnswer(asked, answer.body, actor.key);
    return {Encode(answer)};
  };
  Result<Bytes> own = stage.Answer(actor.speaks, question);
  switch (actor.habit) {
    case Habit::kRefusing:
    case Habit::kSilent: return {};
    case Habit::kGarbling:
      if (own && !own->empty()) (*own)[below(0, own->size())] ^= static_cast<std::uint8_t>(1 << below(2, 8));
      return message(own);
    case Habit::kEquivocating: {
      std::vector<Bytes> messages = message(own);
      for (Bytes& other : message(stage.Answer(below(0, stage.runs()), question))) messages.push_back(std::move(other));
      return messages;
    }
    case Habit::kBorrowing:
    case Habit::kAnything: return message(stage.Answer(below(0, stage.runs()), question));
    default: return message(std::move(own));
  }
}

// What is said at all addresses of a party, whatever the order in which they are listed.
std::vector<Bytes> SayAll(const Stage& stage, const std::vector<const Actor*>& addresses, ByteSpan asked,
                          const Question& question) {
  std::set<Bytes> messages;
  for (const Actor* actor : addresses) {
    if (!actor->poses) std::ranges::move(Say(stage, *actor, asked, question), std::inserter(messages, messages.end()));
  }
  return {messages.begin(), messages.end()};
}

std::set<Key> WhoStands(const Stage& stage, const std::vector<Actor>& actors, const std::vector<std::size_t>& order,
                        const LawOptions& options) {
  std::vector<Claim> claims;
  for (const std::size_t place : order) claims.push_back(stage.Opened(actors[place].receipt));
  const auto law = stage.LawFor(options);
  const std::vector<ProviderId> parties = Referee(law, claims, {}).parties();
  std::vector<std::vector<const Actor*>> addresses(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) addresses[parties[i]].push_back(&actors[order[i]]);
  std::vector<Says> says;
  for (const auto& of_party : addresses) {
    says.push_back([&](ByteSpan asked, const Question& question) { return SayAll(stage, of_party, asked, question); });
  }
  const Record record = PlayAtOnce(law, claims, says);
  std::set<Key> standing;
  for (const ProviderId id : Survivors(record)) standing.insert(actors[order[id]].key);
  return standing;
}

}  // namespace

std::string CheckOrder(const Stage& stage, const std::vector<Actor>& actors, const LawOptions& options, Dice& dice) {
  std::vector<std::size_t> order(actors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::set<Key> first = WhoStands(stage, actors, order, options);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[dice.Below(i)]);
  const std::set<Key> second = WhoStands(stage, actors, order, options);
  if (first == second) return "";
  for (std::size_t i = 0; i < actors.size(); ++i) {
    if (first.contains(actors[i].key) == second.contains(actors[i].key)) continue;
    return fmt::format("provider {} {} in the order {}", i, second.contains(actors[i].key) ? "stands" : "falls",
                       fmt::join(order, " "));
  }
  return "";
}

}  // namespace assay::dispute
