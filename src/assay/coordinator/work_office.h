// WorkOffice: all of a coordinator that deals with workers and disputes: their routes, who waits for work, questions on their way, referees, and what has to be done
// every few seconds.
//
// Starts its threads when it is made and ends them when it is destroyed, which should be after the server has stopped. Everything another coordinator on the same
// database needs is in the database. Thread safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "assay/coordinator/changes.h"
#include "assay/coordinator/desk.h"
#include "assay/coordinator/heartbeats.h"
#include "assay/coordinator/mailbox.h"
#include "assay/coordinator/office.h"
#include "assay/coordinator/referee.h"
#include "assay/coordinator/verdict_hook.h"
#include "assay/coordinator/worker_gauges.h"

namespace assay::coordinator {

struct WorkOptions {
  RefereeOptions referee{};       // its log is the office's
  std::string on_verdict{};       // command; empty: none. The book's options must say announce_verdicts then
  std::int64_t sweep_ms = 1'000;  // between sweeps
};

// {"receipt","files"}
Json RunJson(const BroughtRun& run);

class WorkOffice {
 public:
  // The office and `changes`, which the book's `changed` must tell, outlive it.
  WorkOffice(Office& office, Changes& changes, const WorkOptions& options);
  ~WorkOffice();
  WorkOffice(const WorkOffice&) = delete;
  WorkOffice& operator=(const WorkOffice&) = delete;

  void AddRoutes(Routes& routes);
  std::size_t waiting() { return desk_.waiting(); }  // polls

 private:
  struct Known {
    std::string key, account;
  };
  void AddWorkerRoutes(Routes& routes);
  void AddLeaseRoutes(Routes& routes);
  void AddDisputeRoutes(Routes& routes);

  // The key that signed the request, whoever it belongs to.
  Outcome<VerifyKey> Signer(const Call& call);
  // The same, of a worker of the caller's account, as it is registered.
  Outcome<std::string> WorkerOf(const Call& call);
  Answer Register(const Call& call);
  Answer ListWorkers(const Call& call);
  void Poll(Call call, Responder responder);
  // What a poll is told; nothing where there is nothing that the worker does not know, and it can wait.
  std::optional<Answer> Work(const std::string& account, const std::string& worker, const std::vector<std::string>& holding,
                             bool fresh, bool last);

  Answer Renew(const Call& call);
  Answer Commit(const Call& call);
  Answer Telemetry(const Call& call);
  Answer TakeResult(const Call& call);
  Answer Report(const Call& call);
  Answer GiveBack(const Call& call);
  void AdoptTelemetry(const std::string& order, life::LeaseNumber lease, const std::vector<life::OrderFile>& files);
  Answer ShowLease(const Call& call);
  Answer TakeAnswer(const Call& call);
  // An error under a lease, as the caller should hear it.
  Answer Under(const Status& done, const std::string& worker, const std::string& order, life::LeaseNumber lease);

  Answer ShowRun(const Call& call);
  Answer Ask(const Call& call);
  void AwaitAnswer(Call call, Responder responder);
  Answer Judged(const Call& call);
  Outcome<std::shared_ptr<const Written>> SealedOrder(const Call& call);

  void Sweep();

  Office& office_;
  Changes& changes_;
  const WorkOptions options_;
  Bell bell_;
  Mailbox mailbox_;
  Heartbeats heartbeats_;
  WorkerGauges gauges_;
  Desk desk_;
  std::mutex adopting_;                 // telemetry of runs, which may be large: one at a time
  std::mutex mutex_;                    // of what follows
  std::map<std::string, Known> known_;  // registered keys, by point, with the account that was the last to use them
  std::map<std::string, VerifyKey, std::less<>> keys_;  // the same, read, by their text
  Bell stop_;                                           // rung once, at the end
  std::thread sweeper_;
  std::optional<VerdictHook> hook_;
  std::optional<Referee> referee_;
};

}  // namespace assay::coordinator
