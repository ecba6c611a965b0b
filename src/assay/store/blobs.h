// Blobs: contents by their SHA-256, in a folder that several processes may share.
//
//     DIR/whole/ab/cd/abcd…        64 hexadecimal digits: a whole blob, never changed
//     DIR/partial/HASH-OWNER       an upload under way; OWNER is a hash of the uploader's name
//
// A blob is whole or absent, also across a crash and a power cut: it gets its name in whole/ after its bytes were verified and are on the disk.
// A name is made of digests alone, so nothing that comes from outside can name a path.
//
// An upload belongs to a hash and an owner, so nobody spoils another's, and survives restarts of either side: Begin says how far it got,
// Append continues there. A request that is repeated does no harm. Its hash is computed as bytes come in; where another process had a part
// of them, or this one was started anew, from the file.
//
// Whether an owner may learn that a blob is there which others uploaded, what refers to it and when nothing does is for the caller to know.
//
// Errors are one line; `Error::system` is set where the machine failed or is full. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/store/clock.h"

namespace assay::store {

// A blob that is open, and stays readable when it is removed. Thread safe.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `out` with the bytes from `offset` on; an error when the blob ends before.
  virtual Status Read(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;
  // For sendfile: the file, or -1 where there is none.
  virtual int descriptor() const = 0;
};

struct BlobOptions {
  std::uint64_t max_blob_bytes = std::uint64_t{64} << 30;
  std::uint64_t reserve_bytes = std::uint64_t{1}
                                << 30;  // of the file system, left free: the database needs room to say that none is left
  // Whether `owner` may have an upload of `bytes` in all; asked before each growth. Absent: yes.
  std::function<Status(std::string_view owner, std::uint64_t bytes)> quota{};
  // Every owner sends all bytes itself, also of a blob that is there already, and is told nothing about it: where a right to a blob comes from having uploaded it,
  // its hash alone must not give one.
  bool each_sends = false;
  // Bytes that are free in the folder's file system; absent: what the system says.
  std::function<Result<std::uint64_t>()> free_bytes{};
  std::shared_ptr<Clock> clock = SystemClock();
};

struct BlobInfo {
  Digest hash;
  std::uint64_t size = 0;
  std::int64_t finished_ms = 0;  // on the clock of whoever finished it
};

class Blobs {
 public:
  static Result<std::unique_ptr<Blobs>> Open(const std::string& folder, const BlobOptions& options = {});
  virtual ~Blobs() = default;

  virtual Result<bool> Has(const Digest& hash) = 0;
  virtual Result<std::uint64_t> Size(const Digest& hash) = 0;  // an error when it is absent
  virtual Result<std::unique_ptr<BlobReader>> OpenForReading(const Digest& hash) = 0;

  // How many bytes are there of an upload that is not whole; 0 where there is none.
  virtual Result<std::uint64_t> Begun(const Digest& hash, std::string_view owner) = 0;
  // The number of bytes that are there of an upload of `size` bytes, whether it is begun or continued; `size` when the blob is there already.
  // An error when so many bytes have no place.
  virtual Result<std::uint64_t> Begin(const Digest& hash, std::string_view owner, std::uint64_t size) = 0;
  // Appends to what is there, and returns how many bytes are there then. Bytes that were sent before are compared and not written again; a gap
  // is an error, and other bytes than before are one. Nothing is done when the blob is there already.
  virtual Result<std::uint64_t> Append(const Digest& hash, std::string_view owner, std::uint64_t offset, ByteSpan bytes) = 0;
  // Makes the blob whole. Bytes with another hash are an error, and the upload begins anew. Success when the blob is there already.
  virtual Status Finish(const Digest& hash, std::string_view owner) = 0;
  // Forgets the upload; success when there is none.
  virtual Status Abandon(const Digest& hash, std::string_view owner) = 0;

  // Forgets uploads to which nothing was added for `age_ms`, and says how many.
  virtual Result<std::int64_t> Sweep(std::int64_t age_ms) = 0;
  // The blobs whose hash begins with `first`, in order: 256 calls visit all, so that the list is never long.
  virtual Result<std::vector<BlobInfo>> List(std::uint8_t first) = 0;
  // Whether the blob is there. It then counts as finished just now, so that whoever is about to refer to it has time to.
  virtual Result<bool> Renew(const Digest& hash) = 0;
  // Removes a blob that was finished at `before_ms` or earlier, if `confirm` agrees; says whether it did. While `confirm` decides nobody renews the blob or
  // finishes another upload of it: those who come meanwhile find it gone afterwards, and their own bytes take its place. So what `confirm` has to rule out is
  // that somebody refers to the blob, or has begun an upload of it, at the time it is asked.
  virtual Result<bool> RemoveIf(const Digest& hash, std::int64_t before_ms, const std::function<Result<bool>()>& confirm) = 0;
};

}  // namespace assay::store
