#include "assay/net/work_queue.h"

#include <algorithm>
#include <system_error>
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

bool WorkQueue::TryPush(const std::string& peer, Task task, Lane lane) {
  Task displaced;
  {
    const std::lock_guard guard(mutex_);
    if (stopping_) return false;
    const auto found = peers_.find({lane, peer});
    const std::size_t own_waiting = found == peers_.end() ? 0 : found->second.waiting.size();
    const std::size_t own_running = found == peers_.end() ? 0 : found->second.running;
    if (own_waiting + own_running >= limits_.per_peer) return false;
    const std::size_t capacity = static_cast<std::size_t>(limits_.threads) + limits_.waiting;
    if (running_ + waiting_ >= capacity && !MakeRoom(own_waiting, displaced)) return false;
    const auto [own, fresh] = peers_.try_emplace({lane, peer});
    if (fresh) own->second.last_turn = ++clock_;
    Leave(own);
    own->second.waiting.push_back(std::move(task));
    Return(own);
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

void WorkQueue::Leave(Peers::iterator peer) {
  lines_[static_cast<std::size_t>(peer->first.first)].erase({peer->second.running, peer->second.last_turn});
}

void WorkQueue::Return(Peers::iterator peer) {
  const Peer& state = peer->second;
  if (!state.waiting.empty())
    lines_[static_cast<std::size_t>(peer->first.first)].emplace(std::pair(state.running, state.last_turn), peer);
}

// Where the first of a line may not run, it has as many running as any may, and so have all behind it.
bool WorkQueue::MayRun(const Line& line) const {
  return !line.empty() && line.begin()->first.first < static_cast<std::size_t>(limits_.threads) - running_;
}

WorkQueue::Line* WorkQueue::NextLine() {
  for (const std::size_t lane : {1 - last_lane_, last_lane_}) {
    if (MayRun(lines_[lane])) return &lines_[lane];
  }
  return nullptr;
}

void WorkQueue::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Line* line = nullptr;
    changed_.wait(lock, [&] { return stopping_ || (line = NextLine()) != nullptr; });
    if (stopping_) return;
    const Peers::iterator next = line->begin()->second;
    last_lane_ = static_cast<std::size_t>(next->first.first);
    Leave(next);
    Task task = std::move(next->second.waiting.front());
    next->second.waiting.pop_front();
    next->second.last_turn = ++clock_;
    ++next->second.running;
    Return(next);
    --waiting_;
    ++running_;
    // Whoever takes one wakes whoever takes another: what the end of a task lets run may be more than the thread that ended it takes.
    if (NextLine() != nullptr) changed_.notify_one();
    lock.unlock();
    // A task may compute what others compare bit by bit.
    SetIeeeFloatingPoint();
    task(Turn::kRun);
    task = nullptr;
    lock.lock();
    Leave(next);
    --next->second.running;
    --running_;
    Return(next);
    if (next->second.running == 0 && next->second.waiting.empty()) peers_.erase(next);
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
    for (Line& line : lines_) line.clear();
    waiting_ = 0;
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (Task& task : dropped) task(Turn::kStopping);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace assay
