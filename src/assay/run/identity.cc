#include "assay/run/identity.h"

namespace assay {
namespace {

constexpr std::string_view kFormat = "assay/run/1\n";
constexpr std::size_t kHexDigits = 64;

}  // namespace

std::string Encode(const RunIdentity& identity) {
  return fmt::format("{}job {}\ntrajectory {}\ndata {}\n", kFormat, identity.job.hex(), identity.trajectory.hex(),
                     identity.data.hex());
}

Result<RunIdentity> ParseRunIdentity(std::string_view text, std::string_view what) {
  RunIdentity identity;
  const std::pair<std::string_view, Digest*> fields[] = {
      {"job ", &identity.job}, {"trajectory ", &identity.trajectory}, {"data ", &identity.data}};
  std::size_t at = kFormat.size();
  for (const auto& [key, digest] : fields) {
    at += key.size();
    if (at + kHexDigits > text.size()) break;
    const auto parsed = Digest::FromHex(text.substr(at, kHexDigits));
    if (!parsed) break;
    *digest = *parsed;
    at += kHexDigits + 1;
  }
  if (Encode(identity) != text) return Err("{}: expected the identity of a run (assay/run/1)", what);
  return identity;
}

}  // namespace assay
