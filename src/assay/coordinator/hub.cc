#include "assay/coordinator/hub.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "assay/net/event_stream.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::chrono::milliseconds kLook{200};
constexpr std::size_t kMostAtOnce =
    1 << 20;  // bytes of entries for one viewer at each look, since a peer takes time to read them

}  // namespace

Hub::Hub(store::Database& database, RequestLog& log) : database_(database), log_(log), thread_([this] { Run(); }) {}

Hub::~Hub() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Hub::Watch(const std::string& order, std::int64_t next, ReplyStream stream) {
  auto viewer = std::make_shared<Viewer>();
  viewer->next = next;
  viewer->stream = std::move(stream);
  {
    const std::lock_guard lock(mutex_);
    viewers_[order].push_back(std::move(viewer));
    ++count_;
    nudged_ = true;
  }
  changed_.notify_one();
}

void Hub::Nudge() {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return;
    nudged_ = true;
  }
  changed_.notify_one();
}

std::size_t Hub::viewers() {
  const std::lock_guard lock(mutex_);
  return count_;
}

void Hub::Publish(const std::string& order, life::LeaseNumber lease, const std::vector<std::string>& samples) {
  if (samples.empty()) return;
  Viewers viewers;
  {
    const std::lock_guard lock(mutex_);
    if (last_.size() >= kMostOrdersKept && !last_.contains(order)) last_.erase(last_.begin());
    last_[order][lease] = samples.back();
    if (const auto found = viewers_.find(order); found != viewers_.end()) viewers = found->second;
  }
  if (viewers.empty()) return;
  std::string events;
  for (const std::string& sample : samples) events += EncodeEvent({.type = "telemetry", .data = sample});
  for (const auto& viewer : viewers) viewer->stream.Write(events);
}

std::vector<std::string> Hub::LastSamples(const std::string& order) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> samples;
  if (const auto found = last_.find(order); found != last_.end()) {
    for (const auto& [lease, sample] : found->second) samples.push_back(sample);
  }
  return samples;
}

void Hub::Run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    // Who has nobody to tell sleeps until somebody comes.
    if (count_ == 0) {
      changed_.wait(lock, [&] { return ending_ || count_ > 0; });
    } else {
      changed_.wait_for(lock, kLook, [&] { return ending_ || nudged_; });
    }
    if (ending_) return;
    nudged_ = false;
    const std::map<std::string, Viewers> viewers = viewers_;
    lock.unlock();
    for (const auto& [order, watching] : viewers) {
      const Status updated = Update(order, watching);
      if (!updated) log_.Event("events", updated.error().message);
    }
    Clean();
    lock.lock();
  }
}

Status Hub::Update(const std::string& order, const Viewers& viewers) {
  struct Fresh {
    std::int64_t size = 0;
    bool decided = false;
    std::map<std::int64_t, std::vector<std::string>> from{};  // entries, by the number of the first
  };
  ASSAY_ASSIGN(const Fresh news, database_.Read([&](Transaction& t) -> Result<Fresh> {
    Fresh found;
    ASSAY_ASSIGN(const Rows orders, t.Run("SELECT size, verdict FROM orders WHERE id = $1", {order}));
    if (orders.empty()) return found;
    ASSAY_ASSIGN(found.size, orders[0].Integer(0));
    ASSAY_ASSIGN(const std::string verdict, orders[0].Text(1));
    found.decided = !verdict.empty();
    for (const auto& viewer : viewers) {
      if (viewer->over || viewer->next >= found.size || found.from.contains(viewer->next)) continue;
      ASSAY_ASSIGN(const Rows rows, t.Run("SELECT text FROM entries WHERE order_id = $1 AND n >= $2 ORDER BY n LIMIT 64",
                                          {order, viewer->next}));
      std::vector<std::string>& entries = found.from[viewer->next];
      for (const store::Row& row : rows) {
        ASSAY_ASSIGN(std::string text, row.Text(0));
        entries.push_back(std::move(text));
      }
    }
    return found;
  }));
  for (const auto& viewer : viewers) {
    if (const auto found = news.from.find(viewer->next); found != news.from.end()) Send(*viewer, found->second);
    if (!viewer->over && news.decided && viewer->next >= news.size) {
      viewer->stream.Finish();
      viewer->over = true;
    }
  }
  return {};
}

void Hub::Send(Viewer& viewer, const std::vector<std::string>& entries) {
  std::size_t bytes = 0;
  for (const std::string& entry : entries) {
    if (viewer.over || bytes >= kMostAtOnce) return;
    const std::string event = EncodeEvent({.id = std::to_string(viewer.next), .type = "entry", .data = entry});
    bytes += event.size();
    if (!viewer.stream.Write(event)) viewer.over = true;
    ++viewer.next;
  }
}

void Hub::Clean() {
  std::vector<std::shared_ptr<Viewer>> gone;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  for (auto at = viewers_.begin(); at != viewers_.end();) {
    Viewers& watching = at->second;
    const auto end = std::partition(watching.begin(), watching.end(),
                                    [](const auto& viewer) { return !viewer->over && !viewer->stream.gone(); });
    count_ -= static_cast<std::size_t>(watching.end() - end);
    gone.insert(gone.end(), std::make_move_iterator(end), std::make_move_iterator(watching.end()));
    watching.erase(end, watching.end());
    at = watching.empty() ? viewers_.erase(at) : std::next(at);
  }
}

}  // namespace assay::coordinator
