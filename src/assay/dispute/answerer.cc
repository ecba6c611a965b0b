#include "assay/dispute/answerer.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "assay/dispute/scope.h"

namespace assay::dispute {
namespace {

using Failure = Answerer::Failure;

tl::unexpected<Failure> Fail(Failure::Kind kind, std::string why) { return tl::unexpected(Failure{kind, std::move(why)}); }

tl::unexpected<Failure> Fail(const Denied& denied) {
  return Fail(denied.denial == Denial::kNotOpen ? Failure::Kind::kNotOpen : Failure::Kind::kForbidden, denied.why);
}

// The answer's body; memory that runs out is this machine's failure.
Result<Bytes> BodyOf(Account& account, const Question& question) {
  try {
    return AnswerFrom(account, question);
  } catch (const std::bad_alloc& error) {
    return tl::unexpected(Error{fmt::format("out of memory: {}", error.what()), true});
  }
}

}  // namespace

// The right to use the account: pinned referees' questions go first. Holds the lock of the answerer while it is taken and given back.
class Answerer::Turn {
 public:
  static std::unique_ptr<Turn> Take(Answerer& self, std::unique_lock<std::mutex>& lock, bool pinned) {
    const std::size_t most = pinned ? self.options_.max_waiting_pinned : self.options_.max_waiting;
    if (self.waiting_[pinned ? 1 : 0] >= most) return nullptr;
    std::unique_ptr<Turn> turn(new Turn(self, lock, pinned));
    self.changed_.wait(lock, [&] { return !self.busy_ && (pinned || self.waiting_[1] == 0); });
    self.busy_ = turn->busy_ = true;
    return turn;
  }
  ~Turn() {
    if (!lock_.owns_lock()) lock_.lock();
    --self_.waiting_[pinned_ ? 1 : 0];
    if (busy_) self_.busy_ = false;
    self_.changed_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turn(Answerer& self, std::unique_lock<std::mutex>& lock, bool pinned) : self_(self), lock_(lock), pinned_(pinned) {
    ++self_.waiting_[pinned ? 1 : 0];
  }
  Answerer& self_;
  std::unique_lock<std::mutex>& lock_;
  bool pinned_;
  bool busy_ = false;
};

Answerer::Answerer(Account& account, const SigningKey& key, Docket docket, const AnswererOptions& options)
    : account_(account),
      key_(key),
      options_(options),
      docket_(std::move(docket)),
      fees_([&account] { return account.NewMeter(); }),
      answers_(options.max_cached_bytes) {}

std::size_t Answerer::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return answers_.bytes();
}

std::size_t Answerer::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_[0] + waiting_[1];
}

Answerer::Outcome<Digest> Answerer::Open(ByteSpan opening) {
  const auto message = DecodeOpening(opening);
  if (!message) return Fail(Failure::Kind::kMalformed, message.error().message);
  const std::lock_guard lock(mutex_);
  const auto opened = docket_.Open(*message);
  if (options_.note && (!opened || !opened->again)) {
    options_.note({.referee = message->opening.referee,
                   .refused = opened ? "" : opened.error().why,
                   .pinned = opened && opened->pinned,
                   .bouts = Docket::BoutsOf(message->opening.parties),
                   .bouts_left = docket_.BoutsLeft()});
  }
  if (!opened) return Fail(opened.error());
  return opened->id;
}

Answerer::Outcome<Bytes> Answerer::Answer(ByteSpan message) {
  const auto split = SplitQuestion(message);
  if (!split) return Fail(Failure::Kind::kMalformed, split.error().message);
  const auto addressed = DecodeQuestion(split->question);
  if (!addressed) return Fail(Failure::Kind::kMalformed, addressed.error().message);
  const bool free = IsAboutReceipt(addressed->question);
  const Digest hash = HashBytes(split->question);

  std::unique_lock lock(mutex_);
  const auto admit = [&] { return docket_.Admit(addressed->dispute, split->question, split->signature, free); };
  // What was answered is answered again whatever is left of the budget, but to nobody else.
  const auto admitted = admit();
  if (!admitted && admitted.error().denial != Denial::kSpent) return Fail(admitted.error());
  if (const Bytes* answer = answers_.Find(hash)) return *answer;
  if (!admitted) return Fail(admitted.error());
  const auto turn = Turn::Take(*this, lock, *admitted);
  if (!turn) return Fail(Failure::Kind::kLater, "too many questions are waiting");
  // While this one waited somebody may have asked the same, or spent what was left.
  if (const Bytes* answer = answers_.Find(hash)) return *answer;
  if (const auto still = admit(); !still) return Fail(still.error());
  lock.unlock();
  const Work before = account_.work();
  Result<Bytes> body = BodyOf(account_, addressed->question);
  const Work after = account_.work();
  lock.lock();
  docket_.Charge(addressed->dispute,
                 fees_.For(addressed->dispute, addressed->question, body ? body->size() : 0, Since(before, after)));
  // What the job does not have it will never have; what failed here may go well another time.
  if (!body) return Fail(body.error().system ? Failure::Kind::kFailed : Failure::Kind::kMalformed, body.error().message);
  Bytes answer = Encode(Sign(split->question, std::move(*body), key_));
  answers_.Put(hash, answer, answer.size());
  return answer;
}

Result<Docket> DocketOf(const Account& account, const Docket::Options& options) {
  ASSAY_ASSIGN(Terms made, Terms::Make(account.job(), account.program()));
  const auto terms = std::make_shared<const Terms>(std::move(made));
  ASSAY_ASSIGN(const Claim own, OpenClaim(account.receipt(), "our receipt"));
  ASSAY_TRY(CheckClaim(own, *terms));
  const auto contradicts = [terms, group = GroupOf(own)](const std::string& receipt) -> Status {
    ASSAY_ASSIGN(const Claim other, OpenClaim(receipt, "the receipt shown"));
    ASSAY_TRY(CheckClaim(other, *terms));
    if (GroupOf(other) == group) return Err("the receipt that it shows says the same as ours");
    return {};
  };
  return Docket({.job = terms->id(), .receipt = own.receipt_hash, .contradicts = contradicts}, options);
}

}  // namespace assay::dispute
