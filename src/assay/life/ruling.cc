#include "assay/life/ruling.h"

#include <algorithm>

#include "assay/base/base64.h"
#include "assay/life/fields.h"
#include "assay/sign/dsse.h"

namespace assay::life {
namespace {

constexpr std::string_view kPayloadType = "application/vnd.assay.judged+json";

// Runs are named by their receipts too: what was said about these runs says nothing about others under the same leases.
std::string Message(const Life& life, const Judged& judged) {
  Json runs = Json::array();
  for (const LeaseNumber number : judged.among) {
    const Lease* lease = life.Find(number);
    const std::string receipt = lease == nullptr ? std::string() : HashBytes(AsBytes(lease->receipt_file)).hex();
    runs.push_back({{"lease", number}, {"receipt", receipt}});
  }
  return EnvelopeMessage(kPayloadType, Compact({{"order", life.order().id},
                                                {"runs", runs},
                                                {"evidence", judged.evidence},
                                                {"convicted", judged.convicted},
                                                {"silent", judged.silent},
                                                {"outcome", judged.decided ? "decided" : "undecided"},
                                                {"words", judged.words}}));
}

}  // namespace

std::string SignRuling(const Life& life, const Judged& judged, const SigningKey& key) {
  return Base64(key.Sign(AsBytes(Message(life, judged))));
}

Status CheckRuling(const Life& life, const Judged& judged) {
  ASSAY_ASSIGN(const VerifyKey client, VerifyKey::Parse(life.order().client));
  const auto bytes = FromBase64(judged.signature);
  Signature signature{};
  if (bytes && bytes->size() == signature.size()) {
    std::ranges::copy(*bytes, signature.begin());
    if (client.Verify(AsBytes(Message(life, judged)), signature)) return {};
  }
  return Err("a dispute of a sealed order is judged by its client, and {} has not signed this", client.id());
}

}  // namespace assay::life
