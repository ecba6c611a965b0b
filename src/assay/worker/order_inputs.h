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
  bool over_room = false;  // it takes more than it may, or than there is
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

// Leaves the order's files in `folder` under their names, opened where they are sealed; `scratch` is for those that are being opened. What is there and right is not
// fetched again. Sealed files that were not sealed for this order are refused before anything of them is written: whoever has only their sealed bytes could otherwise
// have an order of their own done with them.
Outcome<void> FetchOrderFiles(const Porter& porter, const life::Order& order, const std::string& folder,
                              const std::string& scratch);
// The same with the files of a run of the order, which its worker has sealed.
Outcome<void> FetchRunFiles(const Porter& porter, const life::Order& order, const std::vector<life::OrderFile>& files,
                            const std::string& folder, const std::string& scratch);

// The job of the order, once all of its files are in `folder`. An error: it is another job, or names what did not come with it.
// The machine's fault: it takes more than the allowance has, or should stop.
Result<PreparedJob> PrepareOrder(const life::Order& order, const std::string& folder, ThreadPool& pool, Allowance& allowance);
// The job itself, which names only files of the order, with paths to them.
Result<Job> LoadOrderJob(const life::Order& order, const std::string& folder);

}  // namespace assay::worker
