// Workplace: the folder of one worker, and what is in it.
//
//   lock                     held while a worker runs here
//   key, key.pub             the worker's own signing key, unless it was given another
//   identity                 of sealed orders (age); 0600
//   coordinator              the public key of the coordinator, as it was seen first
//   orders/ID/order.json     the order, as its client signed it
//   orders/ID/files/         the job and its files, opened; 0700
//   orders/ID/lease-N/       what was done under a lease:
//     run/                     the run that was trained
//     audited/                 a copy of the run that is audited
//     sealed/                  files on their way from or to sealed ones
//     lease.json, committed.json, pending.json, share, result.json, report.json, done   how far it has come (lease_folder.h)
//   reports/ID               the one report that this worker has made of a run of the order
//
// Everything under orders/ID is deleted when the order is decided. Reports stay: who could have a second one made would be free to keep the one that it likes.
// Names in orders are checked before they become paths: nothing of an order leaves its folder.
// Thread safe, apart from two threads working on one order's folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/base/file.h"
#include "assay/seal/keys.h"
#include "assay/sign/key.h"
#include "assay/worker/link.h"

namespace assay::worker {

class Workplace {
 public:
  // Creates the folder (0700) where it is missing. An error where another worker runs in it.
  static Result<Workplace> Open(const std::string& path);

  const std::string& path() const { return path_; }
  // The key of `key_path`, or the folder's own, which is made at first use.
  Result<SigningKey> OpenKey(const std::string& key_path) const;
  // None in a build that cannot seal.
  Result<std::optional<Identity>> OpenIdentity() const;
  // Remembers the coordinator's key; an error where it is another than before.
  Status Pin(const std::string& coordinator) const;

  std::string OrderPath(const std::string& order) const;
  std::string LeasePath(const LeaseName& lease) const;
  Result<std::vector<std::string>> Orders() const;
  Result<std::vector<LeaseName>> Leases() const;
  Status Forget(const std::string& order) const;
  // The report of an audit under this order, once it is made.
  Result<std::optional<std::string>> ReportOf(const std::string& order) const;
  Status KeepReport(const std::string& order, const std::string& envelope) const;
  Status Forget(const LeaseName& lease) const;

 private:
  Workplace(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  FileLock lock_;
};

// `folder`/`name` for a name that leads nowhere else, with the folders on the way to it.
Result<std::string> PathInside(const std::string& folder, const std::string& name);
Status MakePrivateFolder(const std::string& path);  // 0700
Status RemoveFolder(const std::string& path);       // with what is in it; nothing where it is not there

}  // namespace assay::worker
