// write_docs write|check ROOT: what the code knows of ops, attributes, coefficients and job fields, written into the pages under ROOT/docs and into
// the vectors of ROOT/docs/vectors, or compared with what stands there. `make docs` writes; the test docs.specification checks.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string_view>

#include "assay/base/file.h"
#include "docs/function_steps.h"
#include "docs/pages.h"
#include "docs/tables.h"
#include "docs/vectors.h"

namespace assay::docs {
namespace {

constexpr std::uint64_t kMaxPage = 1 << 24;

Result<std::string> Read(const std::filesystem::path& path) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path.string(), kMaxPage));
  return std::string(bytes.begin(), bytes.end());
}

// What every generated file should hold, by its path below ROOT.
Result<std::map<std::string, std::string>> Wanted(const std::filesystem::path& root) {
  std::map<std::string, std::string> wanted;
  const auto part = [&](const std::string& page, std::string_view name, const std::string& text) -> Status {
    if (!wanted.contains(page)) {
      ASSAY_ASSIGN(wanted[page], Read(root / page));
    }
    auto changed = WithPart(wanted[page], name, text);
    if (!changed) return Err("{}: {}", page, changed.error().message);
    wanted[page] = std::move(*changed);
    return {};
  };
  ASSAY_TRY(part("docs/NUMERICS.md", "functions", FunctionSteps()));
  ASSAY_TRY(part("docs/formats/ops.md", "ops", OpsTable()));
  ASSAY_TRY(part("docs/formats/job.md", "job fields", JobFieldsTable()));
  ASSAY_TRY(part("docs/formats/rounded.md", "rounded ops", RoundedOpsTable()));
  // What people write about each op has to be there, whatever it says.
  ASSAY_TRY(ExpectNamed(wanted["docs/formats/ops.md"], "<!-- end of ops -->\n", OpNames(true)));
  ASSAY_TRY(ExpectNamed(wanted["docs/NUMERICS.md"], "## 5. Operators\n", OpNames(false)));
  ASSAY_TRY(ExpectNamed(wanted["docs/formats/rounded.md"], "## Formulas\n", BoundedOpNames()));
  for (auto& [name, text] : Vectors()) wanted["docs/vectors/" + name] = std::move(text);
  return wanted;
}

// The first line in which two texts differ.
std::size_t FirstDifference(std::string_view a, std::string_view b) {
  std::size_t line = 1;
  for (std::size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i) line += a[i] == '\n' ? 1 : 0;
  return line;
}

Status Run(std::string_view mode, const std::filesystem::path& root) {
  ASSAY_ASSIGN(const auto wanted, Wanted(root));
  std::size_t different = 0;
  for (const auto& [name, text] : wanted) {
    const auto found = Read(root / name);
    if (found && *found == text) continue;
    if (mode == "write") {
      std::filesystem::create_directories((root / name).parent_path());
      ASSAY_TRY(WriteFileAtomic((root / name).string(), AsBytes(text)));
      fmt::print("wrote {}\n", name);
      continue;
    }
    fmt::print("{}:{}: is not what the code says; run make docs\n", name, found ? FirstDifference(*found, text) : 0);
    ++different;
  }
  if (different > 0) return Err("{} of {} files differ", different, wanted.size());
  fmt::print("{} pages and vectors say what the code does\n", wanted.size());
  return {};
}

}  // namespace
}  // namespace assay::docs

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode != "write" && mode != "check") {
    fmt::print(stderr, "write_docs: expected write|check ROOT\n");
    return 2;
  }
  const assay::Status status = assay::docs::Run(mode, argv[2]);
  if (!status) fmt::print(stderr, "write_docs: {}\n", status.error().message);
  return status ? 0 : 1;
}
