// Registration: what a worker says of itself when it comes, and what is known of it. Value types; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"

namespace assay::coordinator {

struct Registration {
  std::string hardware{};      // JSON
  std::string announcement{};  // envelope of the recipient that it opens sealed jobs with (seal/announcement.h), or empty
  std::string role = "provider";
};

// The recipient (age1…) that an announcement is of; empty for an empty announcement. An error where this key has not signed it, for this role.
Result<std::string> AnnouncedRecipient(const Registration& registration, const std::string& vkey);

// Said to whoever comes with a key that another account has: how it gets work all the same.
inline constexpr std::string_view kKeyOfAnother =
    "registered to another account: start the worker with a token of that account (assay admin token --role provider --account "
    "NAME makes "
    "another), or have the key released (assay admin release KEY)";

struct WorkerLine {
  std::string key, account, role, hardware, announcement;
  std::int64_t made_ms = 0, seen_ms = 0;
  std::int64_t clean = 0;               // jobs that were checked and held
  std::vector<std::string> evidence{};  // by which the key is convicted
};

}  // namespace assay::coordinator
