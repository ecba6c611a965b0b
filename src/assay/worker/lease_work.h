// LeaseWork: all that is done under one lease, from its papers to a result, a report, or its return.
//
// Runs on one thread; what stops it comes through the Halt. After a restart of the process the same call goes on where the last one was.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "assay/life/report.h"
#include "assay/worker/craft.h"
#include "assay/worker/desk.h"
#include "assay/worker/order_inputs.h"
#include "assay/worker/reporter.h"
#include "assay/worker/workplace.h"

namespace assay::worker {

// What a worker works with. All of it outlives the work.
struct Site {
  const Workplace& place;
  Craft& craft;
  const SigningKey& key;
  const VerifyKey& coordinator;
  std::span<const Identity> identities;
  ComputeFactory compute;
  platform::Room offered{};  // to any lease; 0: what there is
  ReporterTerms terms{};
  std::function<void(const std::string&)> say{};  // a line for whoever looks after the worker
};

class LeaseWork {
 public:
  // `report`: a link of the reporter's own.
  LeaseWork(const Site& site, Link& link, Link& report, Halt& halt) : site_(site), link_(link), report_(report), halt_(halt) {}

  WorkEnd Run(const GivenLease& lease);

 private:
  Outcome<WorkEnd> Work(LeaseFolder& folder, Reporter& reporter);
  Outcome<WorkEnd> TrainOrder(const life::Order& order, LeaseFolder& folder, Reporter& reporter);
  Outcome<Delivery> MakeRun(const life::Order& order, LeaseFolder& folder, Reporter& reporter);
  WorkEnd Delivered(const LeaseName& name) const;
  Outcome<WorkEnd> AuditRun(const life::Order& order, const RunUnderAudit& run, LeaseFolder& folder, Reporter& reporter);
  Outcome<LeasePapers> TakePapers(const LeaseFolder& folder);
  Outcome<void> FetchInputs(const life::Order& order, const std::vector<life::OrderFile>& more, const LeaseFolder& folder,
                            Reporter& reporter);
  Outcome<PreparedJob> PrepareJob(const life::Order& order, const LeaseFolder& folder, Compute& compute);
  Outcome<TrainOutcome> Train(const PreparedJob& prepared, const LeaseFolder& folder, const Compute& compute,
                              Reporter& reporter, Commitments& commitments);
  Outcome<void> SettleCommitments(const LeaseFolder& folder, Reporter& reporter, Commitments& commitments);
  Outcome<life::Report> Examine(const life::Order& order, const RunUnderAudit& run, const LeaseFolder& folder,
                                Reporter& reporter);
  Outcome<WorkEnd> PostReport(const LeaseFolder& folder, const std::string& envelope);
  WorkEnd Conclude(const LeaseFolder& folder, const Setback& setback);
  void Say(const LeaseName& lease, const std::string& words) const;
  std::string WordsFor(const Setback& setback, const std::string& order) const;
  Porter porter() const { return {link_, halt_, site_.identities}; }

  const Site& site_;
  Link& link_;
  Link& report_;
  Halt& halt_;
  // What is being done, as far as the coordinator of a sealed order may know when it comes to nothing.
  enum class Doing : std::uint8_t { kPapers, kFiles, kJob, kTraining, kDelivery, kAudit } doing_ = Doing::kPapers;
  bool sealed_ = false;  // the order, once it is known
};

}  // namespace assay::worker
