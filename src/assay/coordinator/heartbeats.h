// Heartbeats: workers' signs of life, gathered and written together.
//
// Thousands of workers that send a sample every second would otherwise write as often. A sign counts from the next Flush on, at most kFlushMs later; what is
// lost with a process is that much. Whether a lease is open is looked up once and believed for kTrustMs, unless its order changes in this process meanwhile:
// nothing but signs of life and telemetry rests on it. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "assay/coordinator/book.h"
#include "assay/store/clock.h"

namespace assay::coordinator {

class Heartbeats {
 public:
  static constexpr std::int64_t kFlushMs = 4'000;
  static constexpr std::int64_t kTrustMs = 3'000;
  static constexpr std::int64_t kSeenMs = 60'000;  // between two times that a worker's last sign of life is written

  Heartbeats(Book& book, std::shared_ptr<store::Clock> clock) : book_(book), clock_(std::move(clock)) {}

  // A sign of life of the lease, if it is open.
  Result<LeaseState> Beat(const std::string& vkey, const std::string& order, life::LeaseNumber lease);
  // The worker, by PointOf, has been heard of; where `written`, the database knows it already.
  void See(const std::string& point, bool written);
  // What is known of the order's leases is looked up again.
  void Forget(const std::string& order);
  // Writes what has been gathered. What could not be written is kept for the next time.
  Status Flush();

 private:
  struct Open {
    std::int64_t until_ms = 0;  // that is believed
    Book::Beat beat;
  };

  Book& book_;
  const std::shared_ptr<store::Clock> clock_;
  std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, life::LeaseNumber>, Open> open_;  // by the worker's key, order and lease
  std::set<Book::Beat> beats_;
  std::map<std::string, std::int64_t> seen_;  // by worker: when that was last written, or is to be
  std::set<std::string> saw_;                 // workers of whom it is to be written
};

}  // namespace assay::coordinator
