// The rows of the table: honest runs of four kinds of models, every cheat of tests/attacks, and what is known against such rules beside them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "columns.h"

namespace assay::checks {

struct Row {
  std::string name, what;
  bool honest = false;  // nothing that was promised is false
  Cells cells{};
};

struct Lab {
  std::string folder;  // of its own, for runs
  Backend& backend;
  ThreadPool& pool;
};

// An error: a run could not be made.
Result<std::vector<Row>> AllRows(const Lab& lab);
// `count` honest runs, of the four kinds in turn, with seeds and shapes of their own.
Result<std::vector<Row>> HonestRows(const Lab& lab, int count);

}  // namespace assay::checks
