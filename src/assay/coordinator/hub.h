// Hub: who is watching which order, and how what happens reaches them as server-sent events.
//
// A thread looks at the database a few times a second for entries of the orders that are watched, whichever coordinator wrote them. Telemetry comes from this
// process alone, as workers post it here; it is passed on and not kept, but for the last sample of each lease. A viewer that reads too slowly is dropped, and
// comes back with the number of the last entry that it got. The stream ends after the entry `decided`. Thread safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "assay/coordinator/request_log.h"
#include "assay/life/entry.h"
#include "assay/net/reply.h"
#include "assay/store/database.h"

namespace assay::coordinator {

class Hub {
 public:
  // Both must outlive the hub.
  Hub(store::Database& database, RequestLog& log);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // The stream gets the entries from `next` on, and telemetry from now on.
  void Watch(const std::string& order, std::int64_t next, ReplyStream stream);
  // Samples of a lease, each the compact JSON of an object, in which `lease` stands.
  void Publish(const std::string& order, life::LeaseNumber lease, const std::vector<std::string>& samples);
  // The last sample of each lease of the order that this process has seen.
  std::vector<std::string> LastSamples(const std::string& order);
  // Entries may have been added: they are sent at once. Does not wait.
  void Nudge();

  std::size_t viewers();

 private:
  struct Viewer {
    std::int64_t next = 0;  // of the hub's thread
    bool over = false;      // of the hub's thread: has all that there will be
    ReplyStream stream;
  };
  using Viewers = std::vector<std::shared_ptr<Viewer>>;

  void Run();
  // Brings the viewers of one order up to date, as far as their connections take it.
  Status Update(const std::string& order, const Viewers& viewers);
  static void Send(Viewer& viewer, const std::vector<std::string>& entries);
  // Those that have left are forgotten.
  void Clean();

  static constexpr std::size_t kMostOrdersKept = 16'384;

  store::Database& database_;
  RequestLog& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Viewers> viewers_;  // by order
  std::size_t count_ = 0;
  std::map<std::string, std::map<life::LeaseNumber, std::string>> last_;
  bool nudged_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace assay::coordinator
