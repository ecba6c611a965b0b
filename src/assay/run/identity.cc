#include "assay/run/identity.h"

#include <utility>
#include <vector>

namespace assay {
namespace {

constexpr std::string_view kFormat = "assay/run/1";

// The value of the next line, which must be "KEY VALUE".
Result<std::string_view> TakeField(std::string_view& text, std::string_view key, std::string_view what) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') {
    return Err("{}: expected a line '{} ...'", what, key);
  }
  text.remove_prefix(end + 1);
  return line.substr(key.size() + 1);
}

// The same where the value is a digest.
Status TakeDigest(std::string_view& text, std::string_view key, std::string_view what, Digest& digest) {
  ASSAY_ASSIGN(const std::string_view value, TakeField(text, key, what));
  const auto parsed = Digest::FromHex(value);
  if (!parsed) return Err("{}: {}: {}", what, key, parsed.error().message);
  digest = *parsed;
  return {};
}

}  // namespace

std::array<FixedFile, 3> FixedFiles(const RunHeader& header) {
  return {{{"job.toml", header.job_toml}, {"job.bin", header.job_bin}, {"program.bin", header.program_bin}}};
}

std::string Encode(const RunHeader& header) {
  const RunIdentity& id = header.identity;
  std::string text = fmt::format("{}\njob {}\ntrajectory {}\ndata {}\nsigner {}\njob.toml {}\njob.bin {}\nprogram.bin {}\n",
                                 kFormat, id.job.hex(), id.trajectory.hex(), id.data.hex(), header.signer.ToString(),
                                 header.job_toml.hex(), header.job_bin.hex(), header.program_bin.hex());
  return text + fmt::format("check {}\n", HashBytes(AsBytes(text)).hex());
}

Result<RunHeader> ParseRunHeader(std::string_view text, std::string_view what) {
  const std::string_view whole = text;
  if (!text.starts_with(fmt::format("{}\n", kFormat))) return Err("{}: expected the identity of a run ({})", what, kFormat);
  text.remove_prefix(kFormat.size() + 1);
  RunIdentity identity;
  for (const auto& [key, digest] : std::vector<std::pair<std::string_view, Digest*>>{
           {"job", &identity.job}, {"trajectory", &identity.trajectory}, {"data", &identity.data}}) {
    ASSAY_TRY(TakeDigest(text, key, what, *digest));
  }
  ASSAY_ASSIGN(const std::string_view vkey, TakeField(text, "signer", what));
  auto signer = VerifyKey::Parse(vkey);
  if (!signer) return Err("{}: signer: {}", what, signer.error().message);
  RunHeader header{.identity = identity, .signer = std::move(*signer)};
  for (const auto& [key, digest] : std::vector<std::pair<std::string_view, Digest*>>{
           {"job.toml", &header.job_toml}, {"job.bin", &header.job_bin}, {"program.bin", &header.program_bin}}) {
    ASSAY_TRY(TakeDigest(text, key, what, *digest));
  }
  if (Encode(header) != whole) return Err("{}: is damaged: its check line does not fit its content", what);
  return header;
}

}  // namespace assay
