// MlflowStream: keeps an MLflow server up to date with a run while it trains, by a thread of its own. Training never waits for it, and goes on whatever becomes of
// the server: what could not be told is told later, now or by another process. Calls come from one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "assay/tracking/mlflow_upload.h"

namespace assay::tracking {

struct StreamTerms {
  int every_ms = 1'000;       // between rounds
  int most_wait_ms = 30'000;  // before a server that was away is tried again
  int patience_ms = 15'000;   // for the rest, once training is over
};

class MlflowStream {
 public:
  // `note` gets lines for people, from the thread.
  MlflowStream(std::unique_ptr<MlflowUpload> upload, std::function<void(const std::string& line)> note,
               const StreamTerms& terms = {});
  ~MlflowStream();  // without the rest
  MlflowStream(const MlflowStream&) = delete;
  MlflowStream& operator=(const MlflowStream&) = delete;

  // Training is over, or interrupted: sends the rest, for as long as the terms say. An error where that was not enough, which says so.
  Status Finish(bool interrupted);

 private:
  using Clock = std::chrono::steady_clock;
  void Loop();
  // How long to wait before the next; nothing where there will be none.
  std::optional<std::chrono::milliseconds> RoundOnce();
  void Stop();

  const std::unique_ptr<MlflowUpload> upload_;
  const std::function<void(const std::string&)> note_;
  const StreamTerms terms_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool leaving_ = false;
  bool done_ = false;  // Finish
  // Of the thread, and once that is over of the caller.
  bool away_ = false, over_ = false;
  int failures_ = 0;
  std::string problem_;
  std::thread thread_;
};

}  // namespace assay::tracking
