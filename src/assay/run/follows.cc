#include "assay/run/follows.h"

#include "assay/base/file.h"

namespace assay {
namespace {

constexpr std::string_view kTag = "assay/follows/1";
constexpr std::uint64_t kMaxFollowsBytes = 4096;

}  // namespace

std::string Encode(const Follows& follows) {
  return fmt::format("{}\nsigner {}\nlog {}\n", kTag, follows.signer, follows.log_root.hex());
}

Result<Follows> ParseFollows(std::string_view text, std::string_view what) {
  // Read leniently, written again and compared: there is one form.
  const auto line = [&](std::string_view key) {
    const std::size_t at = text.find(fmt::format("\n{} ", key));
    if (at == std::string_view::npos) return std::string();
    const std::string_view rest = text.substr(at + key.size() + 2);
    return std::string(rest.substr(0, rest.find('\n')));
  };
  const Follows follows{.signer = line("signer"), .log_root = Digest::FromHex(line("log")).value_or(Digest{})};
  if (Encode(follows) != text || !VerifyKey::Parse(follows.signer))
    return Err("{}: expected {} with a signer and a log", what, kTag);
  return follows;
}

Result<std::optional<Follows>> ReadFollows(const std::string& path) {
  if (!Exists(path)) return std::nullopt;
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxFollowsBytes));
  ASSAY_ASSIGN(Follows follows, ParseFollows({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path));
  return follows;
}

}  // namespace assay
