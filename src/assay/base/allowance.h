// Allowance: how much memory some work may take, and whether it should stop.
//
// Whoever reads a stranger's file takes what its headers announce from the allowance before anything is allocated, so that a small file cannot fill a machine.
// Sizes are counted here, never allocated; what is counted is at least what is used, not exactly that. Pages of mapped files count as what the work takes, but not
// against what is free, because the system takes them back when it needs them. A default one allows everything. Not synchronised, apart from stopped().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "assay/base/result.h"

namespace assay {

// "12 bytes", "268.4 MB", "1.02 GB".
std::string Amount(std::int64_t bytes);
// What is said of work that takes more memory than it may, or than there is: this machine's limits, not the job, are at fault.
Error TakesTooMuch(std::int64_t takes, std::int64_t may);
Error TakesMoreThanFree(std::int64_t takes, std::int64_t free);

class Allowance {
 public:
  enum class Kind : std::uint8_t { kOwn, kMapped };

  // Taken for a while: given back at the end of its life, which must not outlast the allowance's. Movable.
  class Loan {
   public:
    Loan() = default;
    Loan(Loan&& other) noexcept { *this = std::move(other); }
    Loan& operator=(Loan&& other) noexcept {
      std::swap(from_, other.from_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Loan() {
      if (from_ != nullptr) from_->taken_ -= bytes_;
    }

   private:
    friend class Allowance;
    Loan(Allowance* from, std::int64_t bytes) : from_(from), bytes_(bytes) {}
    Allowance* from_ = nullptr;
    std::int64_t bytes_ = 0;
  };

  Allowance() = default;
  // Bytes that the work may take, and that are free here; 0: no limit. `should_stop` may be absent, and is called from any thread.
  Allowance(std::int64_t may, std::int64_t free, std::function<bool()> should_stop)
      : may_(may), free_(free), should_stop_(std::move(should_stop)) {}
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

  // For good; an error where it is too much, or the work should stop. Nothing is taken then.
  Status Take(std::uint64_t bytes, Kind kind = Kind::kOwn);
  Result<Loan> Borrow(std::uint64_t bytes);

  bool stopped() const { return should_stop_ && should_stop_(); }
  Status Check() const;  // an error when the work should stop
  std::int64_t taken() const { return taken_ + mapped_; }

 private:
  std::int64_t may_ = 0, free_ = 0;
  std::function<bool()> should_stop_;
  std::int64_t taken_ = 0, mapped_ = 0;
};

}  // namespace assay
