#include "assay/net/reply.h"

#include "assay/base/check.h"
#include "assay/net/reply_state.h"

namespace assay {

bool ReplyState::Give(Given given) {
  std::function<void()> dropped;
  const std::lock_guard guard(mutex_);
  if (is_given_ || !wake_) return false;
  is_given_ = true;
  if (given.stream) {
    is_stream_ = true;
    max_queued_bytes_ = given.stream->max_queued_bytes;
  } else {
    dropped.swap(on_gone_);
  }
  given_ = std::move(given);
  Wake();
  return true;
}

bool ReplyState::Append(std::string_view piece) {
  const std::lock_guard guard(mutex_);
  if (!wake_ || queued_.ended) return false;
  if (piece.empty()) return true;
  if (in_flight_ + queued_.bytes.size() + piece.size() > max_queued_bytes_) {
    fell_behind_ = true;
    queued_ = {.bytes = {}, .ended = true, .cut = true};
    Wake();
    return false;
  }
  // A connection that has not yet taken what was written before has been woken for it.
  const bool is_awake = !queued_.bytes.empty();
  queued_.bytes += piece;
  if (!is_awake) Wake();
  return true;
}

void ReplyState::End(bool whole) {
  const std::lock_guard guard(mutex_);
  if (!wake_ || queued_.ended) return;
  queued_.ended = true;
  queued_.cut = !whole;
  Wake();
}

bool ReplyState::IsGone() const {
  const std::lock_guard guard(mutex_);
  return gone_ || fell_behind_;
}

bool ReplyState::FellBehind() const {
  const std::lock_guard guard(mutex_);
  return fell_behind_;
}

void ReplyState::OnGone(std::function<void()> callback) {
  {
    const std::lock_guard guard(mutex_);
    const bool is_open = wake_ && (!is_given_ || is_stream_);
    if (is_open) on_gone_.swap(callback);  // and one that was there before is dropped below
    if (is_open || !gone_) return;
  }
  if (callback) callback();
}

void ReplyState::SetReturned() {
  const std::lock_guard guard(mutex_);
  returned_ = true;
  if (!is_given_) Wake();
}

bool ReplyState::IsReturned() const {
  const std::lock_guard guard(mutex_);
  return returned_;
}

bool ReplyState::IsGiven() const {
  const std::lock_guard guard(mutex_);
  return is_given_;
}

ReplyState::Given ReplyState::Take() {
  const std::lock_guard guard(mutex_);
  ASSAY_CHECK(given_.has_value());
  Given given = *std::move(given_);
  given_.reset();
  return given;
}

ReplyState::Queued ReplyState::TakeQueued() {
  const std::lock_guard guard(mutex_);
  Queued taken{.bytes = {}, .ended = queued_.ended, .cut = queued_.cut};
  taken.bytes.swap(queued_.bytes);
  in_flight_ = taken.bytes.size();
  return taken;
}

void ReplyState::Leave() {
  std::function<void()> told;
  {
    const std::lock_guard guard(mutex_);
    if (!wake_) return;
    wake_ = nullptr;
    gone_ = !is_given_ || (is_stream_ && (!queued_.ended || queued_.cut || !queued_.bytes.empty()));
    queued_ = {.bytes = {}, .ended = true, .cut = true};
    told.swap(on_gone_);
    if (!gone_) return;
  }
  if (told) told();
}

void ReplyState::Wake() {
  if (wake_) wake_();
}

bool Reply::Send(HttpResponse response) { return state_->Give({.head = std::move(response), .file = {}, .stream = {}}); }

bool Reply::SendFile(HttpResponse head, FileRange range) {
  return state_->Give({.head = std::move(head), .file = std::move(range), .stream = {}});
}

ReplyStream Reply::Begin(HttpResponse head, StreamTerms terms) {
  return state_->Give({.head = std::move(head), .file = {}, .stream = std::move(terms)}) ? ReplyStream(state_) : ReplyStream();
}

bool Reply::gone() const { return state_->IsGone(); }
void Reply::OnGone(std::function<void()> callback) { state_->OnGone(std::move(callback)); }

Reply::~Reply() {
  if (state_ != nullptr) state_->Drop();
}

Reply& Reply::operator=(Reply&& other) noexcept {
  Reply taken(std::move(other));
  state_.swap(taken.state_);
  return *this;
}

bool ReplyStream::Write(std::string_view piece) { return state_ != nullptr && state_->Append(piece); }

void ReplyStream::Finish() {
  if (state_ != nullptr) state_->End(true);
}

bool ReplyStream::gone() const { return state_ == nullptr || state_->IsGone(); }
bool ReplyStream::fell_behind() const { return state_ != nullptr && state_->FellBehind(); }

void ReplyStream::OnGone(std::function<void()> callback) {
  if (state_ != nullptr) {
    state_->OnGone(std::move(callback));
  } else if (callback) {
    callback();
  }
}

ReplyStream::~ReplyStream() {
  if (state_ != nullptr) state_->End(false);
}

ReplyStream& ReplyStream::operator=(ReplyStream&& other) noexcept {
  ReplyStream taken(std::move(other));
  state_.swap(taken.state_);
  return *this;
}

}  // namespace assay
