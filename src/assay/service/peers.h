// The two sorts of provider that `assay dispute` can ask: servers, and run directories on this machine.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/dispute/arbitrate.h"
#include "assay/train/prepare.h"

namespace assay::service {

// `assay provide` at a URL. `ca_file`: certificates to trust instead of the system's.
Result<std::unique_ptr<dispute::Peer>> MakeRemotePeer(const std::string& url, const std::string& ca_file);

// A run directory, whose steps are run again here as its provider would. It answers under `key` where that is the run's signer, otherwise under a key of the
// moment. All must outlive it; the peers of one dispute share the backend and take turns at it.
Result<std::unique_ptr<dispute::Peer>> MakeLocalPeer(const std::string& path, const PreparedJob& prepared, Backend& backend,
                                                     ThreadPool& pool, const SigningKey& key, std::mutex& turn);

}  // namespace assay::service
