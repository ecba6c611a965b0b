#include "assay/base/allowance.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace assay {
namespace {

constexpr std::uint64_t kEnough = std::uint64_t{1} << 60;  // more than any machine has; sums of two do not overflow

Error Ours(std::string message) {
  Error error{.message = std::move(message)};
  error.system = true;
  return error;
}

}  // namespace

std::string Amount(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  static constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  double amount = static_cast<double>(bytes) / 1024;
  while (amount >= 1023.5 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", amount, amount < 10 ? 2 : amount < 100 ? 1 : 0, kUnits[unit]);
}

Error TakesTooMuch(std::int64_t takes, std::int64_t may) {
  return Ours(fmt::format("memory: the work takes {}, and may take {}", Amount(takes), Amount(may)));
}

Error TakesMoreThanFree(std::int64_t takes, std::int64_t free) {
  return Ours(fmt::format("memory: the work takes {}, and {} are free here", Amount(takes), Amount(free)));
}

Status Allowance::Check() const {
  if (stopped()) return tl::unexpected(Ours("stopped"));
  return {};
}

Status Allowance::Take(std::uint64_t bytes, Kind kind) {
  ASSAY_TRY(Check());
  const auto more = static_cast<std::int64_t>(std::min(bytes, kEnough));
  if (may_ > 0 && more > may_ - taken()) return tl::unexpected(TakesTooMuch(taken() + more, may_));
  if (kind == Kind::kMapped) {
    mapped_ += more;
    return {};
  }
  if (free_ > 0 && more > free_ - taken_) return tl::unexpected(TakesMoreThanFree(taken_ + more, free_));
  taken_ += more;
  return {};
}

Result<Allowance::Loan> Allowance::Borrow(std::uint64_t bytes) {
  const std::int64_t before = taken_;
  ASSAY_TRY(Take(bytes));
  return Loan(this, taken_ - before);
}

}  // namespace assay
