// Packed files and lines of JSON lines.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/data/json_lines.h"
#include "assay/data/packed_file.h"
#include "fuzz/targets.h"
#include "support/packed_bytes.h"

namespace assay::fuzz {
namespace {

void CheckOneLine(const Error& error) { ASSAY_CHECK(error.message.find('\n') == std::string::npos); }

// The same file with the hash of its header as it should be, so that mutations come further.
Bytes Rehashed(ByteSpan input) {
  Bytes file(input.begin(), input.end());
  if (file.size() < kPackedHeaderBytes) return file;
  const Digest hash = HashBytes(ByteSpan(file).first(kPackedHeaderBytes - 32));
  std::ranges::copy(hash.bytes, file.begin() + static_cast<std::ptrdiff_t>(kPackedHeaderBytes) - 32);
  return file;
}

}  // namespace

void RunPacked(ByteSpan input) {
  const Bytes bytes = Rehashed(input);
  const auto file = PackedFile::Parse(bytes, "file");
  if (!file) return CheckOneLine(file.error());
  const PackedHeader& header = (*file)->header();
  ASSAY_CHECK(header.file_bytes() == bytes.size());
  const Bytes again = EncodePackedHeader(header);
  ASSAY_CHECK(std::equal(again.begin(), again.end(), bytes.begin()));
  Allowance everything;
  const auto roots = (*file)->RootsOf((*file)->items(), nullptr, everything);
  if (!roots) return CheckOneLine(roots.error());
  const auto arrays = ArraysOf(header.descriptor);
  for (std::size_t i = 0; i < arrays.size(); ++i) ASSAY_CHECK((*roots)[i] == header.Find(arrays[i].name)->root);
  ASSAY_CHECK((*file)->RootsOf((*file)->items() / 2, nullptr, everything).has_value());
  if (const Status rest = (*file)->CheckRest(everything); !rest) CheckOneLine(rest.error());
}

std::vector<Bytes> PackedSeeds() {
  return {testkit::PackedTokens({1, 2, 3, 0}, {1, 4}, 4), testkit::PackedTokens(std::vector<std::uint16_t>(3000, 7), {3000}, 8),
          testkit::PackedArrays()};
}

void RunJsonLine(ByteSpan input) {
  std::string text;
  const Status read = ReadJsonField(AsText(input), "text", text);
  if (!read) return CheckOneLine(read.error());
  ASSAY_CHECK(text.size() <= input.size());
  ASSAY_CHECK(!IsBlank(AsText(input)));
}

std::vector<Bytes> JsonLineSeeds() {
  return {ToBytes(R"({"text":"a\u00e9\ud83d\ude42\n","id":[1,-2.5e3,{"x":null}]})"),
          ToBytes(R"( { "meta" : true , "text" : "" } )")};
}

}  // namespace assay::fuzz
