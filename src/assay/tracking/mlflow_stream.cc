#include "assay/tracking/mlflow_stream.h"

#include <algorithm>
#include <utility>

namespace assay::tracking {

using std::chrono::milliseconds;

MlflowStream::MlflowStream(std::unique_ptr<MlflowUpload> upload, std::function<void(const std::string& line)> note,
                           const StreamTerms& terms)
    : upload_(std::move(upload)), note_(std::move(note)), terms_(terms) {
  thread_ = std::thread([this] { Loop(); });
}

MlflowStream::~MlflowStream() {
  if (!thread_.joinable()) return;
  upload_->Cancel();
  Stop();
}

void MlflowStream::Stop() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<milliseconds> MlflowStream::RoundOnce() {
  const auto told = upload_->Round();
  if (told) {
    if (std::exchange(away_, false)) note_(fmt::format("MLflow: the server answers again; it has {} records", upload_->told()));
    failures_ = 0;
    problem_.clear();
    return milliseconds(terms_.every_ms);
  }
  problem_ = told.error().message;
  if (!told.error().passes) {
    note_(fmt::format("MLflow: {}; nothing more is sent, and training goes on", problem_));
    over_ = true;
    return std::nullopt;
  }
  if (!std::exchange(away_, true)) note_(fmt::format("MLflow: {}; training goes on, and it is tried again", problem_));
  const int wait_ms = std::min(terms_.most_wait_ms, terms_.every_ms << std::min(failures_, 10));
  ++failures_;
  return milliseconds(wait_ms);
}

void MlflowStream::Loop() {
  milliseconds wait(terms_.every_ms);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, wait, [&] { return leaving_; })) return;
    }
    const auto next = RoundOnce();
    if (!next) return;
    wait = *next;
  }
}

Status MlflowStream::Finish(bool interrupted) {
  // A call that hangs is not waited for longer than the rest may take.
  const auto end = Clock::now() + milliseconds(terms_.patience_ms);
  std::thread alarm([&] {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, end, [&] { return done_; })) upload_->Cancel();
  });
  Stop();
  failures_ = 0;
  while (!over_) {
    const auto wait = RoundOnce();
    bool done = problem_.empty();
    if (done && interrupted && !upload_->finished()) done = upload_->SetStatus("KILLED").has_value();
    if (done || !wait || Clock::now() + *wait >= end) break;
    std::this_thread::sleep_for(*wait);
  }
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  alarm.join();
  if (problem_.empty()) return {};
  return Err("{}; the server has {} records of this run", problem_, upload_->told());
}

}  // namespace assay::tracking
