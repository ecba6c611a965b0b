// Worker: leases work from a coordinator, does it, and answers for it (docs/PLATFORM.md).
//
// It only ever connects out. One thread asks for work, one works, one reports on the work, one answers questions; each has its own link. Everything that matters is
// on disk before it is sent (workplace.h), so that a worker that was killed goes on as if it had not been.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "assay/worker/craft.h"
#include "assay/worker/lease_work.h"
#include "assay/worker/link.h"
#include "assay/worker/workplace.h"

namespace assay::worker {

struct WorkerOptions {
  Hardware hardware{};                               // what it announces
  bool once = false;                                 // ends when the order of its first lease is decided
  platform::Room offered{};                          // what a lease may take; 0: what there is
  std::size_t answer_memory = std::size_t{2} << 30;  // for what is remembered between questions
  ReporterTerms terms{};                             // how long a lease lasts, the coordinator says
  std::function<void(const std::string&)> say{};     // a line for whoever looks after it
  std::function<void()> registered{};                // the coordinator knows this worker
};

class Worker {
 public:
  // All must outlive it. `identity`: none where sealed files cannot be opened.
  Worker(const Workplace& place, const SigningKey& key, std::optional<Identity> identity, LinkFactory links,
         ComputeFactory compute, Craft& craft, WorkerOptions options);
  ~Worker();

  // Works until Stop, or until it is done where it works once. An error: the coordinator refuses this worker, or is another than before.
  Status Run();
  // From any thread: what is under way is left so that it can be taken up again.
  void Stop();

 private:
  class Session;
  Status Announce(Link& link);
  std::unique_ptr<Link> MakeLink() const;  // to the coordinator, once it is known

  const Workplace& place_;
  const SigningKey& key_;
  std::vector<Identity> identities_;
  const LinkFactory links_;
  const ComputeFactory compute_;
  Craft& craft_;
  WorkerOptions options_;
  std::optional<VerifyKey> coordinator_;

  std::mutex mutex_;  // of what follows
  bool stopping_ = false;
  std::function<void()> on_stop_{};
};

}  // namespace assay::worker
