#include "assay/net/work_queue.h"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "assay/base/thread_pool.h"

namespace assay {

Status WorkQueue::Start() {
  try {
    for (int i = 0; i < limits_.threads; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    Stop();
    return Err("cannot start {} worker threads: {}", limits_.threads, error.code().message());
  }
  return {};
}

bool WorkQueue::TryPush(const std::string& peer, Task task) {
  Task displaced;
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) return false;
    const auto found = peers_.find(peer);
    const std::size_t own_waiting = found == peers_.end() ? 0 : found->second.waiting.size();
    const std::size_t own_running = found == peers_.end() ? 0 : found->second.running;
    if (own_waiting + own_running >= limits_.per_peer) return false;
    const std::size_t capacity = static_cast<std::size_t>(limits_.threads) + limits_.waiting;
    if (running_ + waiting_ >= capacity && !MakeRoom(own_waiting, displaced)) return false;
    const auto [own, fresh] = peers_.try_emplace(peer);
    if (fresh) own->second.last_turn = ++clock_;
    own->second.waiting.push_back(std::move(task));
    ++waiting_;
    changed_.notify_one();
  }
  if (displaced) displaced(Turn::kDisplaced);
  return true;
}

// A peer keeps what it has against one that would then have as much.
bool WorkQueue::MakeRoom(std::size_t own_waiting, Task& displaced) {
  const auto most = std::ranges::max_element(peers_, {}, [](const auto& entry) { return entry.second.waiting.size(); });
  if (most == peers_.end() || most->second.waiting.size() <= own_waiting + 1) return false;
  displaced = std::move(most->second.waiting.back());
  most->second.waiting.pop_back();
  --waiting_;
  return true;
}

bool WorkQueue::MayRun(const Peer& peer) const {
  return !peer.waiting.empty() && peer.running < static_cast<std::size_t>(limits_.threads) - running_;
}

WorkQueue::Peers::iterator WorkQueue::NextPeer() {
  auto next = peers_.end();
  for (auto it = peers_.begin(); it != peers_.end(); ++it) {
    if (!MayRun(it->second)) continue;
    const auto rank = [](const Peer& peer) { return std::make_tuple(peer.running, peer.last_turn); };
    if (next == peers_.end() || rank(it->second) < rank(next->second)) next = it;
  }
  return next;
}

void WorkQueue::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto next = peers_.end();
    changed_.wait(lock, [&] { return stopping_ || (next = NextPeer()) != peers_.end(); });
    if (stopping_) return;
    Task task = std::move(next->second.waiting.front());
    next->second.waiting.pop_front();
    next->second.last_turn = ++clock_;
    ++next->second.running;
    --waiting_;
    ++running_;
    lock.unlock();
    // A task may compute what others compare bit by bit.
    SetIeeeFloatingPoint();
    task(Turn::kRun);
    task = nullptr;
    lock.lock();
    --next->second.running;
    --running_;
    if (next->second.running == 0 && next->second.waiting.empty()) peers_.erase(next);
    // A thread more is free, which may let a peer run one more beside the one that this thread takes.
    if (waiting_ != 0) changed_.notify_all();
  }
}

void WorkQueue::Stop() {
  std::vector<Task> dropped;
  std::vector<std::thread> threads;
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    for (auto& [name, peer] : peers_) {
      std::ranges::move(peer.waiting, std::back_inserter(dropped));
      peer.waiting.clear();
    }
    waiting_ = 0;
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (Task& task : dropped) task(Turn::kStopping);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace assay
