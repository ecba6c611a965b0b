#include "strangers.h"

#include <algorithm>

#include "at_once.h"

namespace assay::dispute {

Digest Strangers::SomeNonce() {
  ByteWriter out;
  out.U64(dice_.Next());
  return HashBytes(out.bytes());
}

// Whatever comes of it is kept.
void Strangers::Put(Desk& desk, ByteSpan question, const Signature& signature) {
  auto answer = desk.Ask(question, signature);
  ++(answer ? deeds_.answered : deeds_.denied);
  if (!answer) return;
  AddressedQuestion addressed = *DecodeQuestion(question);
  loot_.answers.push_back({desk.key(), addressed.dispute, std::move(addressed.question), std::move(*answer)});
}

// Some of what the referee asked liars, or all of it in an order that makes the one who answers go back and forth.
void Strangers::Replay() {
  if (loot_.questions.empty()) return;
  const bool all = dice_.One(4);
  Desk& desk = *dice_.Of(desks_);
  for (std::uint64_t i = all ? loot_.questions.size() : 1 + dice_.Below(8); i > 0; --i) {
    ++deeds_.replays;
    if (all) std::swap(loot_.questions[i - 1], loot_.questions[dice_.Below(i)]);
    const auto& [question, signature] = all ? loot_.questions[i - 1] : dice_.Of(loot_.questions);
    Put(desk, question, signature);
  }
}

Bytes Strangers::OpeningOf(Key referee, const Digest& nonce, std::vector<Digest> receipts, const std::string& shown) {
  Opening opening{.referee = stage_.PointOf(referee), .nonce = nonce, .receipts = std::move(receipts), .shown = shown};
  std::ranges::sort(opening.receipts, {}, &Digest::bytes);
  opening.receipts.erase(std::unique(opening.receipts.begin(), opening.receipts.end()), opening.receipts.end());
  opening.parties = static_cast<std::uint32_t>(dice_.One(8) ? dice_.Below(3) : opening.receipts.size());
  Bytes bytes = Encode(opening);
  const Signature signature = stage_.SignOpening(bytes, dice_.One(16) ? kFirstPuppet : referee);
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return bytes;
}

// A dispute about a receipt that was made up; sometimes one that shows nothing, or that the provider has no part in.
void Strangers::Open(Desk& desk) {
  const Key referee = SomeReferee();
  const std::string shown =
      dice_.One(16) ? "no receipt"
                    : stage_.ReceiptOf(dice_.Below(stage_.runs()), kFirstPuppet + static_cast<Key>(dice_.Below(kPuppets)));
  std::vector<Digest> receipts{HashBytes(AsBytes(desk.receipt())), HashBytes(AsBytes(shown))};
  if (dice_.One(16)) receipts.erase(receipts.begin() + static_cast<std::ptrdiff_t>(dice_.Below(2)));
  for (std::uint64_t more = dice_.One(4) ? dice_.Below(40) : 0; more > 0; --more) receipts.push_back(SomeNonce());
  const auto opened = desk.Open(OpeningOf(referee, SomeNonce(), std::move(receipts), shown));
  if (!opened) return;
  open_.emplace_back(*opened, referee);
  for (std::uint64_t i = 1 + dice_.Below(12); i > 0; --i) AskAnything(desk, *opened, referee);
}

void Strangers::AskAnything(Desk& desk, const Digest& dispute, Key referee) {
  const Bytes question = Encode(dispute, stage_.AnyQuestion(dice_));
  const std::size_t before = deeds_.answered;
  Put(desk, question, stage_.SignQuestion(question, HashBytes(AsBytes(desk.receipt())), referee));
  deeds_.learnt += deeds_.answered - before;
}

void Strangers::Act(const Digest& dispute) {
  Desk& desk = *dice_.Of(desks_);
  switch (dice_.Below(8)) {
    case 0: return AskAnything(desk, dispute, SomeReferee());
    case 1: return AskAnything(desk, SomeNonce(), SomeReferee());
    case 2:
      if (!loot_.openings.empty()) static_cast<void>(desk.Open(dice_.Of(loot_.openings)));
      return;
    case 3:
      if (!open_.empty()) {
        const auto [id, referee] = dice_.Of(open_);
        AskAnything(desk, id, referee);
      }
      return;
    case 4:
    case 5: return Open(desk);
    default: return Replay();
  }
}

std::string Strangers::Referee() {
  ++deeds_.games;
  const Key referee = SomeReferee();
  const LawOptions options{.referee = stage_.PointOf(referee), .nonce = SomeNonce(), .unsigned_answers = {}};
  struct Seat {
    std::string receipt;
    Desk* desk = nullptr;
    std::size_t run = 0;
    bool borrows = false;
    Key key = 0;
  };
  std::vector<Seat> seats;
  const std::size_t honest = 1 + dice_.Below(std::min<std::size_t>(desks_.size(), 2));
  const std::size_t first = dice_.Below(desks_.size());
  for (std::size_t i = 0; i < honest; ++i) {
    Desk* desk = desks_[(first + i) % desks_.size()];
    seats.push_back({.receipt = desk->receipt(), .desk = desk, .run = 0, .borrows = false, .key = desk->key()});
  }
  for (std::uint64_t i = 1 + dice_.Below(3); i > 0; --i) {
    Seat seat{
        .receipt = {}, .run = dice_.Below(stage_.runs()), .borrows = dice_.One(3), .key = kFirstPuppet + static_cast<Key>(i)};
    seat.receipt = stage_.ReceiptOf(seat.run, seat.key);
    seats.insert(seats.begin() + static_cast<std::ptrdiff_t>(dice_.Below(seats.size() + 1)), seat);
  }
  std::vector<Claim> claims;
  std::vector<std::string> receipts;
  std::vector<Digest> hashes;
  for (const Seat& seat : seats) {
    receipts.push_back(seat.receipt);
    claims.push_back(stage_.Opened(seat.receipt));
    hashes.push_back(claims.back().receipt_hash);
  }
  std::vector<Says> says;
  for (const Seat& seat : seats) {
    if (seat.desk != nullptr) {
      const auto other = std::ranges::find_if(seats, [&](const Seat& s) { return s.desk == nullptr; });
      static_cast<void>(seat.desk->Open(OpeningOf(referee, options.nonce, hashes, other->receipt)));
    }
    says.push_back([&, seat](ByteSpan asked, const Question& question) -> std::vector<Bytes> {
      if (seat.desk != nullptr) {
        const std::size_t before = loot_.answers.size();
        Put(*seat.desk, asked, stage_.SignQuestion(asked, HashBytes(AsBytes(seat.receipt)), referee));
        if (loot_.answers.size() == before) return {};
        ++deeds_.learnt;
        return {Encode(loot_.answers.back().answer)};
      }
      Result<Bytes> body = stage_.Answer(seat.borrows ? dice_.Below(stage_.runs()) : seat.run, question);
      if (!body) return {};
      Answer answer{.body = std::move(*body), .signature = {}};
      answer.signature = stage_.SignAnswer(asked, answer.body, seat.key);
      return {Encode(answer)};
    });
  }
  const Record record = PlayAtOnce(stage_.LawFor(options), claims, says);
  loot_.evidence.push_back(stage_.EvidenceOf(options, receipts, record));
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (seats[i].desk != nullptr && IsGuilty(record.providers[i].standing))
      return "a stranger's game has it: " + record.providers[i].why;
  }
  return "";
}

}  // namespace assay::dispute
