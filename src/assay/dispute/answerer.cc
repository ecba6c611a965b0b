#include "assay/dispute/answerer.h"

#include <memory>
#include <new>
#include <utility>

namespace assay::dispute {
namespace {

// Costs nothing, so that it is answered whatever a dispute has spent.
bool IsFree(const Question& question) {
  const auto about_log = [](const TreeName& tree) { return tree.kind == TreeKind::kLog; };
  if (const auto* expand = std::get_if<ExpandQuestion>(&question)) return about_log(expand->tree);
  if (const auto* leaves = std::get_if<LeavesQuestion>(&question)) return about_log(leaves->tree);
  return false;
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

Answerer::Answerer(Account& account, const SigningKey& key, const AnswererOptions& options)
    : account_(account), key_(key), options_(options), answers_(options.max_cached_bytes), spent_(options.max_disputes) {}

std::size_t Answerer::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return answers_.bytes();
}

std::size_t Answerer::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

std::optional<Bytes> Answerer::Cached(ByteSpan question) {
  const std::lock_guard lock(mutex_);
  const Bytes* answer = answers_.Find(HashBytes(question));
  return answer != nullptr ? std::optional(*answer) : std::nullopt;
}

bool Answerer::IsSpent(const Digest& dispute) {
  const std::lock_guard lock(mutex_);
  const Work* spent = spent_.Find(dispute);
  if (!options_.budget || spent == nullptr) return false;
  return spent->steps_run >= options_.budget->steps_run || spent->steps_traced >= options_.budget->steps_traced ||
         spent->batches_loaded >= options_.budget->batches_loaded;
}

void Answerer::Charge(const Digest& dispute, const Work& before, const Work& after) {
  const std::lock_guard lock(mutex_);
  const Work* found = spent_.Find(dispute);
  Work spent = found != nullptr ? *found : Work{};
  spent.steps_run += after.steps_run - before.steps_run;
  spent.steps_traced += after.steps_traced - before.steps_traced;
  spent.batches_loaded += after.batches_loaded - before.batches_loaded;
  spent_.Put(dispute, spent, 1);
}

bool Answerer::Enter() {
  const std::lock_guard lock(mutex_);
  if (waiting_ >= options_.max_waiting) return false;
  ++waiting_;
  return true;
}

void Answerer::Leave() {
  const std::lock_guard lock(mutex_);
  --waiting_;
}

Result<Bytes> Answerer::Answer(ByteSpan question) {
  ASSAY_ASSIGN(const AddressedQuestion addressed, DecodeQuestion(question));
  if (auto cached = Cached(question)) return std::move(*cached);
  if (!Enter()) return Err("{} questions are waiting already", options_.max_waiting);
  // Libraries may throw; the place must not be lost then.
  const std::unique_ptr<Answerer, void (*)(Answerer*)> place(this, [](Answerer* self) { self->Leave(); });
  const std::lock_guard lock(account_mutex_);
  return Compute(question, addressed);
}

Result<Bytes> Answerer::Compute(ByteSpan question, const AddressedQuestion& addressed) {
  if (auto cached = Cached(question)) return std::move(*cached);  // somebody asked the same while this one waited
  if (!IsFree(addressed.question) && IsSpent(addressed.dispute)) {
    return Encode(SignRefusal(question, "this dispute has spent its budget of work", key_));
  }
  const Work before = account_.work();
  Result<Bytes> body = BodyOf(account_, addressed.question);
  Charge(addressed.dispute, before, account_.work());
  if (!body && body.error().system) return body;
  if (!body) return Encode(SignRefusal(question, body.error().message, key_));
  Bytes answer = Encode(Sign(question, false, std::move(*body), key_));
  const std::lock_guard lock(mutex_);
  answers_.Put(HashBytes(question), answer, answer.size());
  return answer;
}

}  // namespace assay::dispute
