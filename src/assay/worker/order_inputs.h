// From an order to a job that can be trained: the files as the client signed for them, opened where they are sealed, all of them inside the order's folder.
//
// A worker runs nothing that a client wrote: a job is read by our parser and may name only files that came with it. Not synchronised.
#pragma once

#include <span>
#include <string>

#include "assay/life/order.h"
#include "assay/seal/keys.h"
#include "assay/train/prepare.h"
#include "assay/worker/halt.h"
#include "assay/worker/lease_folder.h"

namespace assay::worker {

// Why the work under a lease does not come to its end.
struct Setback {
  bool halted = false;  // it was stopped (halt.h)
  life::Ending why = life::Ending::kFailed;
  std::string words{};
};
template <class T>
using Outcome = tl::expected<T, Setback>;
Setback SetbackOf(const Error& error);                  // this machine's fault: given back; otherwise failed
Setback SetbackOf(const CallError& error, Halt& halt);  // a lease that is over stops the work

// Words that others will read, without where things lie here.
std::string WithoutPaths(std::string words, const std::string& folder);

// The order that the lease is of, signed by its client, for this coordinator.
Result<life::Order> CheckOrder(const std::string& envelope, const LeaseName& lease, const VerifyKey& coordinator);

// What moves files; all must outlive it.
struct Porter {
  Link& link;
  Halt& halt;
  std::span<const Identity> identities;  // none: cannot open sealed files
};

// Leaves the files in `folder` under their names, opened where `sealed`; `scratch` is for those that are being opened. What is there and right is not fetched
// again.
Outcome<void> FetchFiles(const Porter& porter, const std::vector<life::OrderFile>& files, bool sealed,
                         const std::string& folder, const std::string& scratch);

// The job of the order, once all of its files are in `folder`. An error: it is another job, or names what did not come with it.
Result<PreparedJob> PrepareOrder(const life::Order& order, const std::string& folder, ThreadPool& pool);
// The job itself, which names only files of the order, with paths to them.
Result<Job> LoadOrderJob(const life::Order& order, const std::string& folder);

}  // namespace assay::worker
