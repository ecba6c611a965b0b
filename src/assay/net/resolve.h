// Names to addresses, with a deadline.
//
// The system's lookup can take as long as it likes and cannot be stopped, so it runs on a thread of its own that a caller may leave
// behind: it ends by itself later and touches nothing but what it shares with the resolver. A resolver has one such thread at most; the
// call after an abandoned one takes its answer, waiting for it if need be.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/base/result.h"

namespace assay {

using SteadyTime = std::chrono::steady_clock::time_point;
using Addresses = std::vector<std::string>;  // numeric, in the order in which they should be tried
using LookupFunction = std::function<Result<Addresses>(const std::string& host)>;

// getaddrinfo: blocks. Thread safe.
Result<Addresses> SystemLookup(const std::string& host);

// Lookup is for one thread at a time, Cancel for any.
class Resolver {
 public:
  explicit Resolver(std::string host, LookupFunction lookup = SystemLookup);
  // Numeric hosts need no lookup.
  Result<Addresses> Lookup(SteadyTime deadline);
  // Ends a lookup under way, and every later one, with an error.
  void Cancel();

 private:
  struct Shared;
  std::string host_;
  LookupFunction lookup_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace assay
