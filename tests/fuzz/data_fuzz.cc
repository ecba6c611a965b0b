// CIFAR-10 records, token files and hexadecimal digits.
#include <vector>

#include "assay/base/check.h"
#include "assay/data/cifar10.h"
#include "assay/data/tokens.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

std::vector<Tensor> BatchOfOne(const Dataset& set) {
  std::vector<Tensor> batch;
  for (const auto& [name, type] : set.fields()) {
    Shape shape{1};
    for (std::int64_t d : type.shape.dims()) shape.Append(d);
    batch.emplace_back(type.dtype, shape);
  }
  return batch;
}

}  // namespace

void RunCifar(ByteSpan input) {
  const auto records = CifarRecords::Parse(input, "cifar");
  if (!records) return;
  const CifarDataset set(*records, 0, (*records)->size(), true);
  auto batch = BatchOfOne(set);
  set.Load(set.samples() - 1, {.seed = input.size(), .step = input[1], .position = input[2]}, 0, batch);
  const std::int32_t label = batch[1].Span<std::int32_t>()[0];
  ASSAY_CHECK(label >= 0 && label < kCifarClasses);
}

void RunTokens(ByteSpan input) {
  const auto stream = TokenStream::Parse(input, "tokens");
  if (!stream || (*stream)->size() < 5) return;
  const TokenDataset set(*stream, 0, (*stream)->size(), 4, 3, "tokens");
  auto batch = BatchOfOne(set);
  set.Load(set.samples() - 1, {}, 0, batch);
  for (std::int32_t id : batch[1].Span<std::int32_t>()) ASSAY_CHECK(id >= 0 && id <= (*stream)->largest());
  (*stream)->Content(0, (*stream)->size());
}

void RunHex(ByteSpan input) {
  const auto bytes = FromHex(AsText(input));
  if (bytes) ASSAY_CHECK(Hex(*bytes) == AsText(input));
}

std::vector<Bytes> CifarSeeds() { return {Bytes(kCifarRecord, 7), Bytes(2 * kCifarRecord, 9), Bytes(100, 1)}; }
std::vector<Bytes> TokensSeeds() { return {Bytes(64, 3), Bytes(11, 1)}; }
std::vector<Bytes> HexSeeds() { return {ToBytes("00ff7a"), ToBytes("0g"), ToBytes("abc")}; }

}  // namespace assay::fuzz
