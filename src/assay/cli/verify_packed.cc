#include <variant>

#include "assay/cli/text.h"
#include "assay/cli/verification.h"
#include "assay/data/packed_file.h"

namespace assay::cli {
namespace {

std::string Contents(const PackedFile& file) {
  const PackedHeader& header = file.header();
  if (const auto* arrays = std::get_if<ArraysDescriptor>(&header.descriptor)) {
    return fmt::format("{} samples of {} {}, labels below {}", Grouped(arrays->count), Name(arrays->dtype),
                       ToString(arrays->sample), header.limit);
  }
  return fmt::format("{} tokens below {} in {}", Grouped(file.items()), header.limit, Plural(header.documents, "document"));
}

}  // namespace

Result<Verification> VerifyPacked(const std::string& path, ThreadPool& pool) {
  Allowance everything;
  const auto file = PackedFile::Open(path, everything);
  if (!file && file.error().system) return tl::unexpected(file.error());
  if (!file) return Damaged("packed", file.error().message);
  const auto roots = (*file)->RootsOf((*file)->items(), &pool, everything);
  if (!roots) return Damaged("packed", roots.error().message);
  if (const Status rest = (*file)->CheckRest(everything); !rest) return Damaged("packed", rest.error().message);
  return Verification{
      .kind = "packed",
      .valid = true,
      .reason = {},
      .shows = {fmt::format("packed data with the root {}, computed again from all of its bytes",
                            (*file)->header().root().hex()),
                Contents(**file), "a run's data root is that of its training part: this one where data.validation is 0"},
      .assumed = {"what it was packed from: packing the same inputs again gives the same root"}};
}

}  // namespace assay::cli
