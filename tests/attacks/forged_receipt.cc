#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

Result<Hooks> ForgedReceipt(const Setting&) {
  return Hooks{.finished = [](const RunDirectory& run) -> Status {
    constexpr std::string_view kField = R"("sig":")";
    ASSAY_ASSIGN(const std::string file, ReadText(run.receipt_path()));
    const std::size_t begin = file.find(kField) + kField.size();
    return WriteText(run.receipt_path(), FlipBit(file, begin, file.find('"', begin)));
  }};
}

}  // namespace assay::attacks
