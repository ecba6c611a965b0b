#include <algorithm>

#include "assay/base/base64.h"
#include "assay/sign/note.h"
#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

// What the base64 after the last `before` encodes, and where it stands.
struct Signed {
  std::size_t begin = 0, end = 0;
  Bytes bytes;
};

Result<Signed> FindSignature(const std::string& file, std::string_view before) {
  Signed found;
  found.begin = file.rfind(before) + before.size();
  found.end = file.find_first_of("\"\n", found.begin);
  ASSAY_ASSIGN(found.bytes, FromBase64(std::string_view(file).substr(found.begin, found.end - found.begin)));
  return found;
}

// Writes the file that `sign` makes for a key, in the name of `key` and with the signature of `forger`. A note's signature has
// the hash of its key before it, which is public: it stays that of `key`.
Status Forge(const std::string& path, const SigningKey& key, const SigningKey& forger, std::string_view before,
             const std::function<std::string(const SigningKey&)>& sign) {
  std::string file = sign(key);
  ASSAY_ASSIGN(Signed right, FindSignature(file, before));
  ASSAY_ASSIGN(const Signed wrong, FindSignature(sign(forger), before));
  std::copy(wrong.bytes.end() - std::tuple_size_v<Signature>, wrong.bytes.end(),
            right.bytes.end() - std::tuple_size_v<Signature>);
  return WriteText(path, file.replace(right.begin, right.end - right.begin, Base64(right.bytes)));
}

}  // namespace

// Whoever does not have the key cannot do better than this.
Result<Hooks> ForeignSignature(const Setting& setting) {
  return Hooks{.finished = [&setting](const RunDirectory& run) -> Status {
    const SigningKey forger = ForeignKey(setting.key);
    ASSAY_ASSIGN(const std::string file, ReadText(run.receipt_path()));
    ASSAY_ASSIGN(const Receipt receipt, OpenReceipt(file, run.signer(), run.receipt_path()));
    ASSAY_TRY(Forge(run.receipt_path(), setting.key, forger, R"("sig":")",
                    [&](const SigningKey& key) { return SignReceipt(receipt, key); }));
    return Forge(JoinPath(run.log_path(), "checkpoint"), setting.key, forger, " ",
                 [&](const SigningKey& key) { return SignCheckpoint(receipt.log, key); });
  }};
}

}  // namespace assay::attacks
