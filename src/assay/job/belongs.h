// Which kinds of jobs have a key that others do not: `optimizer.momentum` belongs to sgd. Internal to job/. Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::job {

struct Belonging {
  std::string choice;               // the key that decides: "optimizer.kind"
  std::vector<std::string> values;  // of that key, with which a job has the other one
};

// None: no job has the key, or all have.
std::optional<Belonging> BelongingOf(std::string_view section, std::string_view key);

// The sections that have a key of this name, in some job or other.
std::vector<std::string> SectionsWith(std::string_view key);

}  // namespace assay::job
