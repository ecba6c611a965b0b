// The program `checks_matrix`: which attack passes which rule.
//
//   checks_matrix                  prints the table, with a reason for each cell behind it (--why)
//   checks_matrix --write PAGE     writes it into docs/CHECKS.md
//   checks_matrix --check PAGE     whether it stands there
//   checks_matrix --honest N       N honest runs: every strict rule accepts each
//
// Exit status: 0 it holds, 1 it does not, 2 something could not be run.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/file.h"
#include "assay/cli/backend.h"
#include "docs/pages.h"
#include "rows.h"
#include "support/scratch.h"

namespace assay::checks {
namespace {

using monitor::RuleState;

std::string_view Mark(const Cell& cell) {
  switch (cell.state) {
    case RuleState::kAccepted:
    case RuleState::kNotApplicable: return "+";
    case RuleState::kRefused:
    case RuleState::kDamaged: return "-";
    case RuleState::kUnchecked: return "?";
  }
  return "?";
}

std::string TableOf(const std::vector<Row>& rows) {
  std::string text = "| run | what it does |";
  for (const std::string_view column : kColumns) text += fmt::format(" {} |", column);
  text += "\n|---|---|";
  for (std::size_t i = 0; i < std::size(kColumns); ++i) text += ":-:|";
  text += "\n";
  for (const Row& row : rows) {
    text += fmt::format("| `{}` | {} |", row.name, row.what);
    for (const Cell& cell : row.cells) text += fmt::format(" {} |", Mark(cell));
    text += "\n";
  }
  return text;
}

void PrintReasons(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < std::size(kColumns); ++i)
      fmt::print("{} / {}: {} {}\n", row.name, kColumns[i], Mark(row.cells[i]), row.cells[i].why);
  }
}

// Honest runs are never refused by our rules; what an audit refutes, replaying everything that a claim can show does, too.
int Contradictions(const std::vector<Row>& rows) {
  int wrong = 0;
  for (const Row& row : rows) {
    for (const std::size_t strict : {std::size_t{1}, std::size_t{3}, std::size_t{5}}) {
      const Cell& cell = row.cells[strict];
      if (row.honest && Mark(cell) != "+") {
        fmt::print(stderr, "{}: is honest, and {} says {}: {}\n", row.name, kColumns[strict], Mark(cell), cell.why);
        ++wrong;
      }
    }
    if (Mark(row.cells[6]) == "-" && Mark(row.cells[5]) != "-") {
      fmt::print(stderr, "{}: an audit refutes it ({}), and own strict does not: {}\n", row.name, row.cells[6].why,
                 row.cells[5].why);
      ++wrong;
    }
  }
  return wrong;
}

Result<int> Run(const std::vector<std::string>& arguments) {
  const testkit::Scratch scratch;
  ThreadPool pool(1);
  ASSAY_ASSIGN(const auto backend, cli::MakeBackend("cpu", "auto", pool));
  const Lab lab{.folder = scratch.path(), .backend = *backend, .pool = pool};
  const auto is = [&](std::size_t i, std::string_view text) { return arguments.size() > i && arguments[i] == text; };
  if (is(0, "--honest")) {
    const int count = arguments.size() > 1 ? std::atoi(arguments[1].c_str()) : 0;
    if (count < 1) return Err("--honest: expected a number of runs");
    ASSAY_ASSIGN(const std::vector<Row> rows, HonestRows(lab, count));
    const int wrong = Contradictions(rows);
    fmt::print("{} honest runs, {} contradictions\n", rows.size(), wrong);
    return wrong == 0 ? 0 : 1;
  }
  ASSAY_ASSIGN(const std::vector<Row> rows, AllRows(lab));
  const int wrong = Contradictions(rows);
  const std::string table = TableOf(rows);
  if (is(0, "--why")) PrintReasons(rows);
  if (!is(0, "--write") && !is(0, "--check")) {
    fmt::print("{}", table);
    return wrong == 0 ? 0 : 1;
  }
  if (arguments.size() < 2) return Err("{}: expected a page", arguments[0]);
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(arguments[1], 1 << 24));
  const std::string page(bytes.begin(), bytes.end());
  ASSAY_ASSIGN(const std::string right, docs::WithPart(page, "checks matrix", table));
  if (is(0, "--write")) {
    ASSAY_TRY(WriteIfDifferent(arguments[1], AsBytes(right)));
  } else if (right != page) {
    fmt::print(stderr, "{}: its table is not what the rules say; checks_matrix --write {} makes it\n{}", arguments[1],
               arguments[1], table);
    return 1;
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay::checks

int main(int argc, char** argv) {
  const auto result = assay::checks::Run(std::vector<std::string>(argv + 1, argv + argc));
  if (result) return *result;
  fmt::print(stderr, "checks_matrix: {}\n", result.error().message);
  return 2;
}
