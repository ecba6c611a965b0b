#include "assay/base/allowance.h"

#include <algorithm>

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
  constexpr double kMegabyte = 1e6, kGigabyte = 1e9;
  const auto amount = static_cast<double>(bytes);
  if (amount < kMegabyte) return fmt::format("{} bytes", bytes);
  return amount < kGigabyte ? fmt::format("{:.1f} MB", amount / kMegabyte) : fmt::format("{:.2f} GB", amount / kGigabyte);
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
