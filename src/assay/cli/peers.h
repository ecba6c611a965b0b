// The two sorts of provider that `assay dispute` can ask: servers, and run directories on this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "assay/cli/command.h"
#include "assay/dispute/arbitrate.h"
#include "assay/train/prepare.h"

namespace assay::cli {

// `assay provide` at a URL. `ca_file`: certificates to trust instead of the system's. Its receipt and the job's encodings are asked for again, for `patience_ms`
// each, while it cannot be reached or is busy.
Result<std::unique_ptr<dispute::Peer>> MakeRemotePeer(const std::string& url, const std::string& ca_file,
                                                      std::int64_t patience_ms);

// A run directory, whose steps are run again on `compute` as its provider would. It answers under `key` where that is the run's signer, otherwise under a key of the
// moment. All must outlive it; the peers of one dispute share `compute` and take
// turns at it.
Result<std::unique_ptr<dispute::Peer>> MakeLocalPeer(const std::string& path, const PreparedJob& prepared,
                                                     const Compute& compute, const SigningKey& key, std::mutex& turn);

}  // namespace assay::cli
