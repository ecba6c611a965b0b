#include "assay/coordinator/desk.h"

namespace assay::coordinator {

Desk::Desk(Book& book, Mailbox& mailbox, Bell& bell, std::shared_ptr<store::Clock> clock)
    : book_(book), mailbox_(mailbox), bell_(bell), clock_(std::move(clock)), thread_([this] { Run(); }) {}

Desk::~Desk() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  bell_.Ring();
  thread_.join();
}

void Desk::Wait(std::int64_t wait_ms, std::uint64_t heard, Responder responder, Look look) {
  const bool missed = bell_.count() != heard;
  {
    const std::lock_guard lock(mutex_);
    waiters_.push_back({.until_ms = clock_->SteadyMs() + wait_ms,
                        .at_once = missed,
                        .responder = std::move(responder),
                        .look = std::move(look)});
  }
  if (missed) bell_.Ring();
}

void Desk::Changed(const std::string& order) {
  {
    const std::lock_guard lock(mutex_);
    changed_.insert(order);
  }
  bell_.Ring();
}

std::size_t Desk::waiting() {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

void Desk::Run() {
  std::uint64_t heard = bell_.count();
  while (true) {
    bell_.WaitAfter(heard, Mailbox::kLookMs);
    heard = bell_.count();
    std::set<std::string> changed;
    bool idle = false;
    {
      const std::lock_guard lock(mutex_);
      if (ending_) break;
      changed.swap(changed_);
      idle = waiters_.empty();
    }
    if (!idle) Serve(Gather(std::move(changed)), false);
  }
  Serve({.last = true}, true);
}

News Desk::Gather(std::set<std::string> changed) {
  News news{.changed = std::move(changed)};
  // A database that does not answer has no news; who waits waits on.
  if (auto workers = mailbox_.Addressees()) news.addressees.insert(workers->begin(), workers->end());
  if (auto wants = book_.WantsNow()) {
    news.wanted = !wants->empty() && *wants != wants_;
    wants_ = *std::move(wants);
  }
  if (news.wanted) {
    if (auto holders = book_.Holders()) news.holders = *std::move(holders);
  }
  return news;
}

void Desk::Serve(const News& news, bool everybody) {
  std::list<Waiter> waiters;
  {
    const std::lock_guard lock(mutex_);
    waiters.swap(waiters_);
  }
  const std::int64_t now = clock_->SteadyMs();
  for (auto at = waiters.begin(); at != waiters.end();) {
    if (at->responder.gone()) {
      at = waiters.erase(at);
      continue;
    }
    const bool last = everybody || now >= at->until_ms;
    std::optional<Answer> answer;
    if (last || at->at_once) {
      News all = news;
      all.last = last;
      all.wanted = all.wanted || at->at_once;
      answer = at->look(all);
      at->at_once = false;
    } else {
      answer = at->look(news);
    }
    if (answer) {
      at->responder.Send(*std::move(answer));
      at = waiters.erase(at);
    } else {
      ++at;
    }
  }
  const std::lock_guard lock(mutex_);
  waiters_.splice(waiters_.begin(), waiters);
}

}  // namespace assay::coordinator
