// The payload of a sealed file: chunks of 64 KiB, each encrypted under its number and whether it is the last
// (docs/formats/sealed.md).
//
// Either class holds one or two chunks, whatever the size of the file. The number and the mark of the last chunk make cut,
// swapped, repeated and appended chunks as visible as altered ones. Not synchronised.
#pragma once

#include <cstdint>
#include <string>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/seal/primitives.h"
#include "assay/seal/source.h"

namespace assay::seal {

inline constexpr std::size_t kChunkSize = 64 << 10;

class ChunkSealer {
 public:
  ChunkSealer(Secret<32> key, ByteSink sink);
  Status Write(ByteSpan plain);
  Status Finish();  // the last chunk, which may be a full one and is empty only where nothing was written

 private:
  Status Put(ByteSpan plain, bool last);
  Secret<32> key_;
  ByteSink sink_;
  SecretBuffer held_{kChunkSize};  // a chunk is sealed when it is known whether more follows
  std::size_t size_ = 0;           // of what is held
  Bytes out_ = Bytes(kChunkSize + kTagSize);
  std::uint64_t number_ = 0;
};

class ChunkOpener {
 public:
  ChunkOpener(Secret<32> key, BufferedSource source, std::string what);
  // The plaintext of the next chunk, valid until the next call; empty when the last one has been given, or was empty itself.
  Result<ByteSpan> Next();

 private:
  bool Open(ByteSpan chunk, bool last);
  std::string WhyNot(ByteSpan chunk, bool last);  // an error for a chunk that does not open
  Secret<32> key_;
  BufferedSource source_;
  std::string what_;
  Bytes in_ = Bytes(kChunkSize + kTagSize + 1);  // one byte more tells whether another chunk follows
  std::size_t size_ = 0;                         // of what is in it already: that byte, or nothing
  SecretBuffer plain_{kChunkSize};
  std::uint64_t number_ = 0;
  bool done_ = false;
};

}  // namespace assay::seal
