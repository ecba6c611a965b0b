// RateLimit: how often each of many names may do something: a bucket of `burst` that refills with `per_second`. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace assay::coordinator {

class RateLimit {
 public:
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // Takes one, and says 0; where none is left, in how many seconds there will be.
  int Take(const std::string& name, std::int64_t now_ms);
  // The same without taking.
  int Look(const std::string& name, std::int64_t now_ms);

 private:
  struct Bucket {
    double left = 0;
    std::int64_t at_ms = 0;
  };
  Bucket& Refilled(const std::string& name, std::int64_t now_ms);
  int Wait(const Bucket& bucket) const;

  static constexpr std::size_t kMostNames = 65'536;

  const double per_second_, burst_;
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace assay::coordinator
