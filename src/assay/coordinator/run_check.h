// Whether what a worker hands in as the result of a training lease can be taken: before it is part of a life, because a receipt that is no claim about the job, or
// files that are not there, would only be found out in the middle of a dispute. Thread safe.
#pragma once

#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/coordinator/blob_rights.h"
#include "assay/life/entry.h"
#include "assay/life/order.h"
#include "assay/store/blobs.h"

namespace assay::coordinator {

// All files are whole blobs that the account may see, of the sizes that it says. Of an order that is not sealed: job.bin and program.bin are those of the order's
// job, the receipt is a claim about it, and model.safetensors is the file that the receipt names. What is sealed only its client can check.
Status CheckRun(store::Blobs& blobs, BlobRights& rights, const std::string& account, const life::Order& order,
                const life::Received& received, const std::vector<life::OrderFile>& files);

// A blob as a whole; an error where it is longer.
Result<Bytes> ReadBlob(store::Blobs& blobs, const Digest& hash, std::size_t max_bytes);

}  // namespace assay::coordinator
