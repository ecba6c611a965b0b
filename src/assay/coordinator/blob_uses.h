// Blob uses: which orders need which blobs, and the removal of blobs that none needs.
//
// An order needs its files, the files of the runs that were brought for it, and the evidence of its disputes, for as long as it is in the database, which is
// for ever. Everything else in the folder of blobs came with uploads that no order followed, or from runs that were never handed in.
//
// A blob is removed while nobody can begin to need it: the transaction that looks whether somebody does takes all rights to it away, those who want to name it
// in an order have to have a right in the very transaction that names it, and a right comes from an upload that is renewed or finished under the blob's lock
// (store/blobs.h). So several coordinators may sweep at once, while others take uploads. Functions; thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "assay/base/result.h"
#include "assay/store/blobs.h"
#include "assay/store/database.h"

namespace assay::coordinator {

// That an order needs a blob.
Status NoteUse(store::Transaction& t, const std::string& order, const Digest& hash);

struct Swept {
  std::int64_t blobs = 0, bytes = 0;  // that were removed, or would be
  std::int64_t kept = 0;              // blobs that stay
};

// Removes the blobs whose hash begins with the byte `first`, that no order needs, and that nobody has uploaded or renewed since `before_ms`. Blobs that a worker
// with an open lease has uploaded stay: they may be of a run that is not finished. `dry_run`: only counts them.
Result<Swept> SweepBlobs(store::Database& database, store::Blobs& blobs, std::uint8_t first, std::int64_t before_ms,
                         bool dry_run);

}  // namespace assay::coordinator
