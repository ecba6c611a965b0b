#include "assay/data/pack_writer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "assay/base/check.h"
#include "assay/base/file_parts.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::string_view kStateMagic = "assaypks";
constexpr std::size_t kStateBytes = 8 + 32 + 7 * 8 + 1 + 32;
constexpr std::uint64_t kCopied = 1 << 20;

Bytes EncodeState(const Digest& plan, const PackState& state) {
  ByteWriter out;
  out.Raw(AsBytes(kStateMagic));
  out.Raw(plan.bytes);
  for (const std::uint64_t v : {state.place.file, state.place.offset, state.read_bytes, state.array_bytes}) out.U64(v);
  for (const std::int64_t v : {state.documents, state.empty, state.largest}) out.I64(v);
  out.U8(state.finished ? 1 : 0);
  out.Raw(HashBytes(out.bytes()).bytes);
  return out.Take();
}

struct StoredState {
  Digest plan;
  PackState state;
};

Result<StoredState> DecodeState(ByteSpan bytes, const std::string& path) {
  StoredState stored;
  ByteReader in(bytes, path);
  ASSAY_TRY(in.Raw(kStateMagic.size()));
  ASSAY_ASSIGN(const ByteSpan plan, in.Raw(32));
  std::ranges::copy(plan, stored.plan.bytes.begin());
  PackState& s = stored.state;
  for (std::uint64_t* v : {&s.place.file, &s.place.offset, &s.read_bytes, &s.array_bytes}) {
    ASSAY_ASSIGN(*v, in.U64());
  }
  for (std::int64_t* v : {&s.documents, &s.empty, &s.largest}) {
    ASSAY_ASSIGN(*v, in.I64());
  }
  ASSAY_ASSIGN(const std::uint8_t finished, in.U8());
  s.finished = finished == 1;
  if (EncodeState(stored.plan, s) != Bytes(bytes.begin(), bytes.end())) {
    return Err("{}: is damaged; remove the folder it is in to start over", path);
  }
  return stored;
}

Result<StoredState> ReadState(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kStateBytes));
  return DecodeState(bytes, path);
}

ByteSpan BytesOf(std::span<const Digest> hashes) {
  return {reinterpret_cast<const std::uint8_t*>(hashes.data()), hashes.size() * sizeof(Digest)};
}

}  // namespace

std::string PackWriter::FolderOf(const std::string& file) { return file + ".partial"; }

std::string PackWriter::Inside(std::string_view name) const { return JoinPath(FolderOf(file_), name); }

Result<PackWriter> PackWriter::Open(const std::string& file, const Digest& plan) {
  const std::string folder = FolderOf(file);
  ASSAY_TRY(MakeDirectories(folder));
  ASSAY_ASSIGN(auto lock, FileLock::TryAcquire(JoinPath(folder, "lock")));
  if (!lock) return Err("{}: another process is packing into it", folder);
  PackWriter writer(file, *std::move(lock), plan);
  ASSAY_TRY(writer.GoOn());
  return writer;
}

// Cuts off what came after the last checkpoint; without one, everything.
Status PackWriter::GoOn() {
  const std::string state = Inside("state");
  if (Exists(state)) {
    ASSAY_ASSIGN(const StoredState stored, ReadState(state));
    if (stored.plan != plan_) {
      return Err("{}: was begun with other inputs or options, or the inputs have changed since; remove it to start over",
                 FolderOf(file_));
    }
    resumed_ = stored.state;
  }
  if (resumed_.finished) resumed_ = {};  // and what was packed is gone: start over
  ASSAY_TRY(OpenFiles());
  if (resumed_.read_bytes == 0) {
    ASSAY_TRY(data_->Append(Bytes(kPackedHeaderBytes)));
    return {};
  }
  bytes_ = resumed_.array_bytes;
  end_ = kPackedHeaderBytes + bytes_;
  ASSAY_ASSIGN(tail_, ReadFilePart(Inside("data"), end_ - bytes_ % kLeafBytes, bytes_ % kLeafBytes));
  for (std::uint64_t at = 0; at < leaf_bytes_; at += kCopied) {
    ASSAY_ASSIGN(const Bytes hashes, ReadFilePart(Inside("leaves"), at, std::min(kCopied, leaf_bytes_ - at)));
    for (std::size_t i = 0; i < hashes.size(); i += sizeof(Digest)) {
      Digest hash;
      std::memcpy(hash.bytes.data(), hashes.data() + i, sizeof(Digest));
      root_.Add(hash);
    }
  }
  return {};
}

Status PackWriter::OpenFiles() {
  const bool fresh = resumed_.read_bytes == 0;
  leaf_bytes_ = fresh ? 0 : resumed_.array_bytes / kLeafBytes * sizeof(Digest);
  const std::uint64_t data = fresh ? 0 : kPackedHeaderBytes + resumed_.array_bytes;
  const std::uint64_t ends = fresh ? 0 : 8 * static_cast<std::uint64_t>(resumed_.documents);
  const auto open = [&](std::string_view name, std::uint64_t size, std::optional<AppendFile>& file) -> Status {
    ASSAY_ASSIGN(file, AppendFile::Open(Inside(name)));
    ASSAY_ASSIGN(const FileFacts facts, FactsOf(Inside(name), false));
    if (facts.bytes < size) {
      return Err("{}: has {} bytes, at least {} were written; remove the folder it is in to start over", Inside(name),
                 facts.bytes, size);
    }
    return facts.bytes == size ? Status{} : TruncateDurably(Inside(name), size);
  };
  ASSAY_TRY(open("data", data, data_));
  ASSAY_TRY(open("documents", ends, ends_));
  return open("leaves", leaf_bytes_, leaves_);
}

Status PackWriter::Append(ByteSpan bytes) {
  ASSAY_TRY(data_->Append(bytes));
  end_ += bytes.size();
  bytes_ += bytes.size();
  std::vector<Digest> hashes;
  if (!tail_.empty()) {
    const ByteSpan missing = bytes.first(std::min(bytes.size(), kLeafBytes - tail_.size()));
    tail_.insert(tail_.end(), missing.begin(), missing.end());
    bytes = bytes.subspan(missing.size());
    if (tail_.size() < kLeafBytes) return {};
    hashes.push_back(LeafHash(tail_));
    tail_.clear();
  }
  const ByteSpan full = bytes.first(bytes.size() / kLeafBytes * kLeafBytes);
  const std::size_t before = hashes.size();
  hashes.resize(before + full.size() / kLeafBytes);
  HashLeaves(full, std::span(hashes).subspan(before));
  const ByteSpan rest = bytes.subspan(full.size());
  tail_.assign(rest.begin(), rest.end());
  for (const Digest& hash : hashes) root_.Add(hash);
  leaf_bytes_ += hashes.size() * sizeof(Digest);
  return leaves_->Append(BytesOf(hashes));
}

Status PackWriter::AppendEnds(std::span<const std::uint64_t> ends) {
  return ends_->Append({reinterpret_cast<const std::uint8_t*>(ends.data()), 8 * ends.size()});
}

// Every section begins at a multiple of 4 KiB.
Status PackWriter::Pad() {
  const std::uint64_t next = SectionAfter(end_);
  ASSAY_TRY(data_->Append(Bytes(static_cast<std::size_t>(next - end_))));
  end_ = next;
  return {};
}

Status PackWriter::EndArray() {
  if (!tail_.empty()) {
    const std::array<Digest, 1> last = {LeafHash(tail_)};
    root_.Add(last[0]);
    leaf_bytes_ += sizeof(Digest);
    ASSAY_TRY(leaves_->Append(BytesOf(last)));
  }
  arrays_.push_back({.name = "", .begin = end_ - bytes_, .bytes = bytes_, .root = root_.root()});
  root_ = {};
  tail_.clear();
  bytes_ = 0;
  return Pad();
}

// The data first: a state says nothing that is not on the disk.
Status PackWriter::Checkpoint(PackState state) {
  state.array_bytes = bytes_;
  for (AppendFile* file : {&*data_, &*ends_, &*leaves_}) ASSAY_TRY(file->Sync());
  return WriteFileAtomic(Inside("state"), EncodeState(plan_, state));
}

Status PackWriter::AppendSection(const std::string& name, ByteSpan bytes) {
  ASSAY_TRY(Pad());
  arrays_.push_back({.name = name, .begin = end_, .bytes = bytes.size(), .root = TensorRoot(bytes)});
  end_ += bytes.size();
  return data_->Append(bytes);
}

// The bytes [begin, begin + bytes) of one of the folder's files as a section.
Status PackWriter::AppendFrom(const std::string& path, std::uint64_t begin, std::uint64_t bytes, const std::string& name) {
  ASSAY_TRY(Pad());
  PackedSection section{.name = name, .begin = end_, .bytes = bytes, .root = {}};
  GrowingRoot root;
  std::vector<Digest> hashes;
  for (std::uint64_t at = 0; at < bytes; at += kCopied) {
    ASSAY_ASSIGN(const Bytes piece, ReadFilePart(path, begin + at, std::min(kCopied, bytes - at)));
    hashes.resize(CountLeaves(piece.size()));
    HashLeaves(piece, hashes);
    for (const Digest& hash : hashes) root.Add(hash);
    ASSAY_TRY(data_->Append(piece));
  }
  section.root = root.root();
  end_ += bytes;
  arrays_.push_back(section);
  return {};
}

Status PackWriter::Finish(PackedHeader& header, std::span<const Extra> extras, PackState state) {
  const std::vector<ArraySpec> specs = ArraysOf(header.descriptor);
  ASSAY_CHECK(arrays_.size() == specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) arrays_[i].name = specs[i].name;
  ASSAY_TRY(ends_->Sync());
  ASSAY_TRY(leaves_->Sync());
  if (header.documents > 0) {
    ASSAY_TRY(AppendFrom(Inside("documents"), 0, 8 * static_cast<std::uint64_t>(header.documents), "documents"));
  }
  for (const Extra& extra : extras) ASSAY_TRY(AppendSection(extra.name, extra.bytes));
  std::uint64_t at = 0;
  for (const ArraySpec& spec : specs) {
    const std::uint64_t bytes = CountLeaves(spec.type.bytes()) * sizeof(Digest);
    ASSAY_TRY(AppendFrom(Inside("leaves"), at, bytes, LeavesOf(spec.name)));
    at += bytes;
  }
  header.sections = arrays_;
  ASSAY_CHECK(header.file_bytes() == end_);
  ASSAY_TRY(data_->Sync());
  ASSAY_TRY(OverwriteDurably(Inside("data"), 0, EncodePackedHeader(header)));
  state.finished = true;
  ASSAY_TRY(WriteFileAtomic(Inside("state"), EncodeState(plan_, state)));
  return RenameAsNew(Inside("data"), file_);
}

Result<std::optional<PackState>> PackWriter::TakeUpFinished(const std::string& file, const Digest& plan) {
  const std::string folder = FolderOf(file), state = JoinPath(folder, "state"), data = JoinPath(folder, "data");
  if (!Exists(state)) return std::nullopt;
  ASSAY_ASSIGN(const auto lock, FileLock::TryAcquire(JoinPath(folder, "lock")));
  if (!lock) return Err("{}: another process is packing into it", folder);
  ASSAY_ASSIGN(const StoredState stored, ReadState(state));
  if (stored.plan != plan || !stored.state.finished) return std::nullopt;
  if (Exists(data)) {
    ASSAY_TRY(RenameAsNew(data, file));
  } else if (!IsPlainFile(file)) {
    return std::nullopt;
  }
  return stored.state;
}

bool PackWriter::HasState(const std::string& file) { return Exists(JoinPath(FolderOf(file), "state")); }

Status PackWriter::RemoveFolder(const std::string& file) {
  const std::string folder = FolderOf(file);
  // The state last: without it nobody would know whose the rest is.
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(folder));
  for (const std::string& name : names) {
    if (name != "state") ASSAY_TRY(RemoveFile(JoinPath(folder, name)));
  }
  if (Exists(JoinPath(folder, "state"))) ASSAY_TRY(RemoveFile(JoinPath(folder, "state")));
  return RemoveEmptyFolder(folder);
}

}  // namespace assay
