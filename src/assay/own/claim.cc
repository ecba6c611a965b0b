#include "assay/own/claim.h"

#include <algorithm>

#include "assay/graph/program_limits.h"
#include "assay/job/limits.h"
#include "assay/run/directory.h"
#include "assay/run/rounding_logs.h"
#include "assay/sign/note.h"

namespace assay::own {
namespace {

constexpr std::string_view kMagic = "assayown";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;
constexpr std::uint64_t kMaxTextBytes = 1 << 20;
constexpr std::uint64_t kMaxTileBytes = 1 << 20;
constexpr std::size_t kMaxName = 256;
constexpr std::string_view kTiles = "log/tile/", kSnapshots = "snapshots/", kRoundings = "rounding/";

// Folders of digits and the letters that tiles' names have, none of them empty: nothing leads elsewhere.
bool IsTilePath(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.back() == '/' || path.find("//") != std::string_view::npos) return false;
  if (path.find("..") != std::string_view::npos) return false;
  return std::ranges::all_of(path,
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '/' || c == '.'; });
}

// A view of a blob; the reader's own copies.
Result<ByteSpan> Span(ByteReader& in, std::uint64_t most, std::string_view what) {
  ASSAY_ASSIGN(const std::uint64_t size, in.U64());
  if (size > most || size > in.remaining()) return Err("{}: {} bytes where at most {} are allowed or left", what, size, most);
  return in.Raw(static_cast<std::size_t>(size));
}

Status ReadFiles(ByteReader& in, std::string_view what, OwnershipClaim& claim) {
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (count > kMaxFiles) return Err("{}: {} files, at most {} allowed", what, count, kMaxFiles);
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(std::string name, in.String());
    if (!IsClaimedName(name)) return Err("{}: file {} has a name that no claim holds", what, i);
    if (!claim.files.empty() && !(claim.files.back().name < name)) return Err("{}: files are not in ascending order", what);
    ASSAY_ASSIGN(const ByteSpan bytes, Span(in, MaxBytesOf(name), what));
    claim.files.push_back({std::move(name), bytes});
  }
  return {};
}

Status ReadStretches(ByteReader& in, std::string_view what, OwnershipClaim& claim) {
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (count > kMaxStretches) return Err("{}: {} stretches, at most {} allowed", what, count, kMaxStretches);
  for (std::uint32_t i = 0; i < count; ++i) {
    Stretch stretch;
    ASSAY_ASSIGN(stretch.steps.begin, in.I64());
    ASSAY_ASSIGN(stretch.steps.end, in.I64());
    ASSAY_ASSIGN(const std::uint8_t chosen, in.U8());
    const std::int64_t after = claim.stretches.empty() ? 0 : claim.stretches.back().steps.end;
    if (stretch.steps.begin < after || stretch.steps.end <= stretch.steps.begin || stretch.steps.end > kMaxStep)
      return Err("{}: stretch {} does not follow the one before", what, i);
    if (chosen < 1 || chosen > 3) return Err("{}: stretch {}: expected 1, 2 or 3, got {}", what, i, chosen);
    stretch.chosen = static_cast<Chosen>(chosen);
    claim.stretches.push_back(stretch);
  }
  return {};
}

Status ReadParents(ByteReader& in, std::string_view what, OwnershipClaim& claim) {
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (count > kMaxParents) return Err("{}: {} parents, at most {} allowed", what, count, kMaxParents);
  for (std::uint32_t i = 0; i < count; ++i) {
    Parent parent;
    ASSAY_ASSIGN(parent.receipt, Span(in, kMaxReceiptBytes, what));
    ASSAY_ASSIGN(parent.job, Span(in, kMaxJobBytes, what));
    ASSAY_ASSIGN(parent.program, Span(in, kMaxProgramBytes, what));
    claim.parents.push_back(parent);
  }
  return {};
}

// Everything but the contents of files goes into `out`; `file` is called where one stands, after its length.
template <class File>
Status WriteParts(const OwnershipClaim& claim, ByteWriter& out, const File& file) {
  out.Raw(AsBytes(kMagic));
  out.U32(kVersion);
  out.Blob(claim.nonce);
  out.U32(claim.top);
  out.U32(claim.drawn);
  out.U32(static_cast<std::uint32_t>(claim.files.size()));
  for (const ClaimedFile& one : claim.files) {
    out.String(one.name);
    out.U64(one.bytes.size());
    ASSAY_TRY(file(one.bytes));
  }
  out.U32(static_cast<std::uint32_t>(claim.stretches.size()));
  for (const Stretch& stretch : claim.stretches) {
    out.I64(stretch.steps.begin);
    out.I64(stretch.steps.end);
    out.U8(static_cast<std::uint8_t>(stretch.chosen));
  }
  out.U32(static_cast<std::uint32_t>(claim.parents.size()));
  for (const Parent& parent : claim.parents) {
    for (const ByteSpan part : {parent.receipt, parent.job, parent.program}) {
      out.U64(part.size());
      ASSAY_TRY(file(part));
    }
  }
  return {};
}

}  // namespace

std::string_view Name(Chosen chosen) {
  switch (chosen) {
    case Chosen::kChange: return "change";
    case Chosen::kDrawn: return "drawn";
    case Chosen::kBoth: return "change and drawn";
  }
  return "";
}

const ClaimedFile* OwnershipClaim::Find(std::string_view name) const {
  const auto found = std::ranges::find(files, name, &ClaimedFile::name);
  return found == files.end() ? nullptr : &*found;
}

bool IsClaimedName(std::string_view name) {
  if (name.size() > kMaxName) return false;
  for (const std::string_view fixed :
       {"follows", "id", "job.bin", "job.toml", "log/checkpoint", "program.bin", "receipt.json"}) {
    if (name == fixed) return true;
  }
  if (name.starts_with(kTiles)) return IsTilePath(name.substr(kTiles.size()));
  if (name.starts_with(kSnapshots)) return SnapshotStep(name.substr(kSnapshots.size())).has_value();
  if (name.starts_with(kRoundings)) return RoundingLogs::StepsIn(name.substr(kRoundings.size())).has_value();
  return false;
}

std::uint64_t MaxBytesOf(std::string_view name) {
  if (name == "receipt.json") return kMaxReceiptBytes;
  if (name == "job.bin") return kMaxJobBytes;
  if (name == "program.bin") return kMaxProgramBytes;
  if (name == "log/checkpoint") return kMaxNoteBytes;
  if (name == "id" || name == "job.toml" || name == "follows") return kMaxTextBytes;
  if (name.starts_with(kTiles)) return kMaxTileBytes;
  return std::uint64_t{1} << 62;  // a state or a rounding log: as large as the file
}

bool LooksLikeClaim(ByteSpan bytes) {
  return bytes.size() >= kMagic.size() && std::ranges::equal(bytes.first(kMagic.size()), AsBytes(kMagic));
}

Result<OwnershipClaim> DecodeClaim(ByteSpan bytes, std::string_view what) {
  if (!LooksLikeClaim(bytes)) return Err("{}: is not a claim of ownership", what);
  ByteReader in(bytes.subspan(kMagic.size()), what);
  ASSAY_ASSIGN(const std::uint32_t version, in.U32());
  if (version != kVersion) return Err("{}: expected version {} of a claim, got {}", what, kVersion, version);
  OwnershipClaim claim;
  ASSAY_ASSIGN(const ByteSpan nonce, Span(in, kMaxNonceBytes, what));
  claim.nonce.assign(nonce.begin(), nonce.end());
  ASSAY_ASSIGN(claim.top, in.U32());
  ASSAY_ASSIGN(claim.drawn, in.U32());
  ASSAY_TRY(ReadFiles(in, what, claim));
  ASSAY_TRY(ReadStretches(in, what, claim));
  ASSAY_TRY(ReadParents(in, what, claim));
  ASSAY_TRY(in.End());
  return claim;
}

Bytes Encode(const OwnershipClaim& claim) {
  ByteWriter out;
  const Status written = WriteParts(claim, out, [&](ByteSpan bytes) -> Status {
    out.Raw(bytes);
    return {};
  });
  return written ? out.Take() : Bytes();
}

Status Write(const OwnershipClaim& claim, FileSink& sink) {
  ByteWriter out;
  const auto flush = [&]() -> Status {
    const Bytes pending = out.Take();
    out = ByteWriter();
    return sink.Write(pending);
  };
  const Status written = WriteParts(claim, out, [&](ByteSpan bytes) -> Status {
    ASSAY_TRY(flush());
    return sink.Write(bytes);
  });
  ASSAY_TRY(written);
  return flush();
}

}  // namespace assay::own
