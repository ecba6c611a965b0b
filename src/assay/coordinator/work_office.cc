#include "assay/coordinator/work_office.h"

#include <algorithm>

namespace assay::coordinator {

WorkOffice::WorkOffice(Office& office, Changes& changes, const WorkOptions& options)
    : office_(office),
      changes_(changes),
      options_(options),
      mailbox_(office.database, bell_),
      heartbeats_(office.book, office.clock),
      desk_(office.book, mailbox_, bell_, office.clock) {
  changes_.Listen([this](const std::string& order) {
    heartbeats_.Forget(order);
    desk_.Changed(order);  // and rings the bell, which referees and the hook listen to
  });
  sweeper_ = std::thread([this] { Sweep(); });
  if (!options_.on_verdict.empty()) {
    VerdictHookOptions hook{.command = options_.on_verdict, .clock = office.clock};
    hook.log = [this](const std::string& line) { office_.log.Event("on_verdict", line); };
    hook_.emplace(office_.database, office_.book, bell_, std::move(hook));
  }
  RefereeOptions referee = options_.referee;
  referee.log = [this](const std::string& line) { office_.log.Event("referee", line); };
  referee_.emplace(office_.book, mailbox_, office_.blobs, bell_, office_.key, std::move(referee));
}

WorkOffice::~WorkOffice() {
  stop_.Ring();
  referee_.reset();
  hook_.reset();
  sweeper_.join();
  changes_.Clear();
}

void WorkOffice::AddRoutes(Routes& routes) {
  office_.metrics.AddPart([this] { return gauges_.Text(office_.clock->SteadyMs()); });
  AddWorkerRoutes(routes);
  AddLeaseRoutes(routes);
  AddDisputeRoutes(routes);
}

// Whatever fails is done the next time.
void WorkOffice::Sweep() {
  const auto note = [&](std::string_view what, const Status& done) {
    if (!done) office_.log.Event(what, done.error().message);
  };
  // Signs of life are written several times within a lease's time, however short that is.
  const std::int64_t flush_ms = std::min(Heartbeats::kFlushMs, office_.lease_ms / 6);
  std::int64_t flushed_ms = office_.clock->SteadyMs();
  while (!stop_.WaitAfter(0, std::min(options_.sweep_ms, flush_ms))) {
    const std::int64_t now = office_.clock->SteadyMs();
    if (now - flushed_ms >= flush_ms) {
      note("heartbeats", heartbeats_.Flush());
      note("histories", office_.histories.Flush());
      flushed_ms = now;
    }
    note("mailbox", mailbox_.Sweep());
  }
  note("heartbeats", heartbeats_.Flush());
  note("histories", office_.histories.Flush());
}

}  // namespace assay::coordinator
