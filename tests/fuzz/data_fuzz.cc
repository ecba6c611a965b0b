// CIFAR-10 records, token files and hexadecimal digits.
#include <vector>

#include "assay/base/check.h"
#include "assay/data/cifar.h"
#include "assay/data/dataset.h"
#include "assay/data/tokens.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunCifar(ByteSpan input) {
  const auto records = CifarRecords::Parse(input, "cifar");
  if (!records) return;
  const auto set = Dataset::Make(CifarPart(*records, 0, (*records)->size()), {.augment = true}, "cifar");
  auto batch = MakeBatch((*set)->fields(), 1);
  (*set)->Load((*set)->samples() - 1, {.seed = input.size(), .step = input[1], .position = input[2]}, 0, batch);
  const std::int32_t label = batch[1].Span<std::int32_t>()[0];
  ASSAY_CHECK(label >= 0 && label < kCifarClasses);
}

void RunTokens(ByteSpan input) {
  const auto stream = TokenStream::Parse(input, "tokens");
  if (!stream || (*stream)->size() < 5) return;
  const auto set = Dataset::Make(TokenPart(*stream, 0, (*stream)->size()), {.sequence = 4, .stride = 3}, "tokens");
  auto batch = MakeBatch((*set)->fields(), 1);
  (*set)->Load((*set)->samples() - 1, {}, 0, batch);
  for (std::int32_t id : batch[1].Span<std::int32_t>()) ASSAY_CHECK(id >= 0 && id <= (*stream)->largest());
}

void RunHex(ByteSpan input) {
  const auto bytes = FromHex(AsText(input));
  if (bytes) ASSAY_CHECK(Hex(*bytes) == AsText(input));
}

std::vector<Bytes> CifarSeeds() { return {Bytes(kCifarRecord, 7), Bytes(2 * kCifarRecord, 9), Bytes(100, 1)}; }
std::vector<Bytes> TokensSeeds() { return {Bytes(64, 3), Bytes(11, 1)}; }
std::vector<Bytes> HexSeeds() { return {ToBytes("00ff7a"), ToBytes("0g"), ToBytes("abc")}; }

}  // namespace assay::fuzz
