#include "assay/seal/seal.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "assay/base/file.h"
#include "assay/merkle/sha256.h"
#include "support/seal_trial.h"

namespace assay::seal {
namespace {

using Sealing = SealTrial;

constexpr std::size_t kSealedChunk = kChunkSize + kTagSize;

// Computed by tests/vectors/sealed.py.
TEST_F(Sealing, Vectors) {
  const Bytes hello = *FromHex(
      "6167652d656e6372797074696f6e2e6f72672f76310a2d3e20583235353139207a6f3036306379324d2b7837634d4634464b5848627330436c6f5546"
      "4454"
      "524852626f466877355966566b0a456f4a5256436e313635796d724f53612b545957476b777366342f6944642f494d6543553968624b7947510a2d2d"
      "2d20"
      "494b76684e76514f346944377857742b5064713641594148467830563835436746347a65426d36367a584d0a03030303030303030303030303030303"
      "1ecd"
      "8fc395c2a0be3f669da727a9e54984c5c38422");
  EXPECT_EQ(Hex(Sealed(AsBytes("hello"), KnownIdentities(0x42))), Hex(hello));
  EXPECT_EQ(*Opened(hello, KnownIdentities(0x42)), Bytes({'h', 'e', 'l', 'l', 'o'}));
  const auto two = KnownIdentities(0x42, 0x43);
  EXPECT_EQ(HashBytes(Sealed(Pattern(65536), two)).hex(), "0474447b038db1df9d06d54380a41c94aa918dc9d40db7e3fb0a337adf68b992");
  EXPECT_EQ(HashBytes(Sealed(Pattern(65537), two)).hex(), "7ed5bd3cac2121a66b2a77a992aa9594c61306cf210ace8744e6df403a6e050d");
}

TEST_F(Sealing, EverySizeComesBack) {
  const auto to = KnownIdentities(1, 2, 3);
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 131071u, 131072u, 131073u, 200000u}) {
    const Bytes plain = Pattern(size);
    const Bytes sealed = Sealed(plain, to, SystemRandomness);
    for (const int byte : {1, 2, 3}) {
      const auto opened = Opened(sealed, KnownIdentities(byte));
      ASSERT_TRUE(opened) << size << ": " << opened.error().message;
      EXPECT_EQ(*opened, plain);
    }
  }
}

TEST_F(Sealing, PiecesDoNotMatter) {
  const auto to = KnownIdentities(0x42);
  const Bytes plain = Pattern(200000), whole = Sealed(plain, to);
  for (const std::size_t step : {997u, 32768u, 65536u, 65537u, 150000u}) {
    Bytes sealed;
    const ByteSink sink = [&](ByteSpan bytes) -> Status {
      sealed.insert(sealed.end(), bytes.begin(), bytes.end());
      return {};
    };
    auto writer = SealWriter::Start(RecipientsOf(to), sink, Counting());
    ASSERT_TRUE(writer);
    for (std::size_t at = 0; at < plain.size(); at += step) {
      ASSERT_TRUE(writer->Write({}));
      ASSERT_TRUE(writer->Write(ByteSpan(plain).subspan(at, std::min(step, plain.size() - at))));
    }
    ASSERT_TRUE(writer->Finish());
    EXPECT_EQ(sealed, whole) << step;

    auto reader = SealReader::Open(SpanSource(whole, step), to, "x");
    ASSERT_TRUE(reader) << reader.error().message;
    Bytes opened, piece(step);
    for (std::size_t got = 1; got > 0; opened.insert(opened.end(), piece.begin(), piece.begin() + static_cast<int>(got))) {
      got = *reader->Read(piece);
    }
    EXPECT_EQ(opened, plain) << step;
    EXPECT_EQ(*reader->Read(piece), 0u);
  }
}

TEST_F(Sealing, NoTwoFilesShareAKey) {
  const auto to = KnownIdentities(0x42);
  const Bytes one = Sealed({}, to, SystemRandomness), other = Sealed({}, to, SystemRandomness);
  EXPECT_NE(Bytes(one.end() - 16, one.end()), Bytes(other.end() - 16, other.end()));
}

TEST_F(Sealing, EveryAlteredBitIsRefused) {
  const auto to = KnownIdentities(0x42, 0x43);
  const Bytes sealed = Sealed(AsBytes("a small file"), to);
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    Bytes other = sealed;
    other[bit / 8] = static_cast<std::uint8_t>(other[bit / 8] ^ 1u << bit % 8);
    for (const auto& identity : {KnownIdentities(0x42), KnownIdentities(0x43)}) {
      const auto opened = Opened(other, identity);
      EXPECT_FALSE(opened) << bit;
      EXPECT_EQ(ErrorOf(opened).find('\n'), std::string::npos);
    }
  }
}

TEST_F(Sealing, EveryTruncationAndAdditionIsRefused) {
  const auto to = KnownIdentities(0x42);
  const Bytes sealed = Sealed(AsBytes("a small file"), to);
  for (std::size_t size = 0; size < sealed.size(); ++size) EXPECT_FALSE(Opened(ByteSpan(sealed).first(size), to)) << size;
  Bytes longer = sealed;
  for (int i = 0; i < 40; ++i) {
    longer.push_back(0);
    EXPECT_FALSE(Opened(longer, to));
  }
}

// A file of three full chunks and one byte, and what can be done to it without a key.
class Chunks : public SealTrial {
 protected:
  void SetUp() override {
    SealTrial::SetUp();
    if (IsSkipped()) return;
    to_ = KnownIdentities(0x42);
    plain_ = Pattern(3 * kChunkSize + 1);
    sealed_ = Sealed(plain_, to_);
    start_ = sealed_.size() - 3 * kSealedChunk - 1 - kTagSize;
  }
  Bytes Chunk(std::size_t number) const {
    const ByteSpan from = ByteSpan(sealed_).subspan(start_ + number * kSealedChunk);
    return Bytes(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), kSealedChunk)));
  }
  // The header and these chunks.
  std::string Refused(const std::vector<Bytes>& chunks) const {
    Bytes file(sealed_.begin(), sealed_.begin() + static_cast<std::ptrdiff_t>(start_));
    for (const Bytes& chunk : chunks) file.insert(file.end(), chunk.begin(), chunk.end());
    return ErrorOf(Opened(file, to_));
  }
  std::vector<Identity> to_;
  Bytes plain_, sealed_;
  std::size_t start_ = 0;
};

TEST_F(Chunks, AsTheyAre) { EXPECT_EQ(Refused({Chunk(0), Chunk(1), Chunk(2), Chunk(3)}), "no error"); }

TEST_F(Chunks, Missing) {
  EXPECT_EQ(Refused({}), "x.age: is truncated: it ends before its first chunk");
  EXPECT_EQ(Refused({Chunk(0)}), "x.age: is truncated: it ends after chunk 0, which is not its last");
  EXPECT_EQ(Refused({Chunk(0), Chunk(1), Chunk(2)}), "x.age: is truncated: it ends after chunk 2, which is not its last");
  EXPECT_EQ(Refused({Chunk(0), Bytes(15)}), "x.age: is truncated: it ends in chunk 1");
  Bytes part = Chunk(1);
  part.resize(100);
  EXPECT_EQ(Refused({Chunk(0), part}), "x.age: chunk 1 is altered, or the file is truncated in it");
}

TEST_F(Chunks, Moved) {
  EXPECT_EQ(Refused({Chunk(1), Chunk(0), Chunk(2), Chunk(3)}), "x.age: chunk 0 is altered");
  EXPECT_EQ(Refused({Chunk(0), Chunk(0), Chunk(1), Chunk(2), Chunk(3)}), "x.age: chunk 1 is altered");
  EXPECT_EQ(Refused({Chunk(0), Chunk(1), Chunk(3)}), "x.age: chunk 2 is altered, or the file is truncated in it");
}

TEST_F(Chunks, Altered) {
  Bytes other = Chunk(2);
  other[1000] ^= 0x10;
  EXPECT_EQ(Refused({Chunk(0), Chunk(1), other, Chunk(3)}), "x.age: chunk 2 is altered");
}

TEST_F(Chunks, Added) {
  EXPECT_EQ(Refused({Chunk(0), Chunk(1), Chunk(2), Chunk(3), Bytes(1)}),
            "x.age: chunk 3 is altered, or the file is truncated in it");
  Bytes full = Sealed(Pattern(kChunkSize), to_);
  full.push_back(0);
  EXPECT_EQ(ErrorOf(Opened(full, to_)), "x.age: bytes follow chunk 0, which is its last");
}

// What came before a bad chunk was good; nothing of the bad one comes out, and the error stays.
TEST_F(Chunks, NothingOfABadOneComesOut) {
  sealed_[start_ + kSealedChunk] ^= 1;
  auto reader = SealReader::Open(SpanSource(sealed_), to_, "x.age");
  ASSERT_TRUE(reader);
  Bytes out(2 * kChunkSize, 0xee);
  EXPECT_EQ(*reader->Read(out), kChunkSize);
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + kChunkSize, plain_.begin()));
  EXPECT_TRUE(std::all_of(out.begin() + kChunkSize, out.end(), [](std::uint8_t b) { return b == 0xee; }));
  std::fill(out.begin(), out.end(), std::uint8_t{0xee});
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(ErrorOf(reader->Read(out)), "x.age: chunk 1 is altered");
    EXPECT_EQ(out, Bytes(2 * kChunkSize, 0xee));
  }
}

// Well encrypted, but by somebody who ends files in another way.
TEST_F(Sealing, AnEmptyChunkAfterOthersIsRefused) {
  const Secret<32> key;
  const Bytes plain(kChunkSize);
  Bytes chunk(kSealedChunk), end(kTagSize);
  Encrypt(key, Nonce{}, plain, chunk);
  Encrypt(key, Nonce{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, {}, end);
  chunk.insert(chunk.end(), end.begin(), end.end());
  ChunkOpener opener(Secret<32>(), BufferedSource(SpanSource(chunk)), "x");
  EXPECT_TRUE(opener.Next());
  EXPECT_EQ(ErrorOf(opener.Next()), "x: chunk 1: is empty, which only the one chunk of an empty file may be");
}

TEST_F(Sealing, ErrorsOfTheHeader) {
  const auto to = KnownIdentities(0x42, 0x43);
  Bytes sealed = Sealed({}, to);
  EXPECT_EQ(ErrorOf(Opened(sealed, KnownIdentities(7, 8))), "x.age: is sealed to none of the 2 identities");
  // The other's stanza: only the MAC tells.
  const std::string text(sealed.begin(), sealed.end());
  const std::size_t second = text.find("-> X25519", 30) + 60;
  sealed[second] = sealed[second] == 'A' ? 'B' : 'A';
  EXPECT_EQ(ErrorOf(Opened(sealed, KnownIdentities(0x42))), "x.age: header: is altered: its MAC does not fit");
}

TEST_F(Sealing, WritersErrors) {
  const ByteSink sink = [](ByteSpan) { return Status(); };
  EXPECT_EQ(ErrorOf(SealWriter::Start({}, sink)), "expected a recipient to seal to, got none");
  const std::vector<Recipient> many(3000, Known(1).recipient());
  EXPECT_NE(ErrorOf(SealWriter::Start(many, sink)).find("3000 recipients: their header has"), std::string::npos);
  const std::vector<Recipient> zero = {Recipient(Point{})};
  EXPECT_NE(ErrorOf(SealWriter::Start(zero, sink)).find("is a point of small order"), std::string::npos);
}

// A file with a hole in it is never made to look whole.
TEST_F(Sealing, AFailingSinkStaysFailed) {
  bool full = false;
  std::size_t calls = 0;
  const ByteSink sink = [&](ByteSpan) -> Status {
    ++calls;
    if (full) return Err("disk full");
    return {};
  };
  auto writer = SealWriter::Start(RecipientsOf(KnownIdentities(1)), sink);
  ASSERT_TRUE(writer);
  full = true;
  EXPECT_EQ(ErrorOf(writer->Write(Pattern(3 * kChunkSize))), "disk full");
  full = false;
  const std::size_t before = calls;
  EXPECT_EQ(ErrorOf(writer->Write(Pattern(3 * kChunkSize))), "disk full");
  EXPECT_EQ(ErrorOf(writer->Finish()), "disk full");
  EXPECT_EQ(calls, before);
}

TEST_F(Sealing, ErrorsOfASourceComeThrough) {
  const auto to = KnownIdentities(0x42);
  const Bytes sealed = Sealed(Pattern(kChunkSize * 2), to);
  for (const std::size_t good : {0u, 10u, 150u, 300u, 70000u}) {
    std::size_t at = 0;
    const ByteSource source = [&](std::span<std::uint8_t> out) -> Result<std::size_t> {
      if (at == good) return Err("wire cut");
      const std::size_t size = std::min(out.size(), good - at);
      std::copy_n(sealed.begin() + static_cast<std::ptrdiff_t>(at), size, out.begin());
      at += size;
      return size;
    };
    EXPECT_EQ(ErrorOf(Unseal(source, to, [](ByteSpan) { return Status(); }, "x")), "wire cut") << good;
  }
}

TEST_F(Sealing, FromFileToFile) {
  std::string folder = testing::TempDir() + "seal_files.XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string plain = JoinPath(folder, "plain"), sealed = JoinPath(folder, "x.age"), back = JoinPath(folder, "back");
  const auto to = KnownIdentities(0x42);
  const Bytes bytes = Pattern(300000);
  ASSERT_TRUE(WriteFileAtomic(plain, bytes));
  ASSERT_TRUE(SealFile(plain, RecipientsOf(to), sealed));
  ASSERT_TRUE(UnsealFile(sealed, to, back));
  EXPECT_EQ(*ReadFile(back, 1 << 20), bytes);
  struct stat about{};
  ASSERT_EQ(::stat(back.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777u, 0600u);
  // Cut after good chunks: no plaintext is left, and an older file stays as it was.
  std::filesystem::resize_file(sealed, 200000);
  EXPECT_EQ(ErrorOf(UnsealFile(sealed, to, JoinPath(folder, "cut"))),
            sealed + ": chunk 3 is altered, or the file is truncated in it");
  EXPECT_FALSE(Exists(JoinPath(folder, "cut")));
  EXPECT_FALSE(UnsealFile(sealed, to, back));
  EXPECT_EQ(*ReadFile(back, 1 << 20), bytes);
  EXPECT_EQ(*ListDirectory(folder), (std::vector<std::string>{"back", "plain", "x.age"}));
  EXPECT_EQ(ErrorOf(SealFile(folder, RecipientsOf(to), sealed)), folder + ": is not a plain file");
  EXPECT_EQ(ErrorOf(SealFile(plain + "no", RecipientsOf(to), sealed)), plain + "no: cannot open: No such file or directory");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay::seal
