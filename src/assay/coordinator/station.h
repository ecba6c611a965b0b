// Station: a coordinator as a process runs it: its folder, its key, its database, its blobs, its threads and its server.
//
//     DIR/coordinator.key, .pub   what signs lives, made at the first start
//     DIR/coordinator.db          the database, where no other is named
//     DIR/blobs                   contents (store/blobs.h)
//
// Several coordinators may share a folder (on a shared file system) and a PostgreSQL database; they may start at once, and each may be killed at any moment. A
// database belongs to the key that it was first used with: a coordinator with another one is refused. Not thread safe, but for what the threads share.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "assay/coordinator/changes.h"
#include "assay/coordinator/door.h"
#include "assay/coordinator/office.h"
#include "assay/coordinator/work_office.h"
#include "assay/net/http_server.h"

namespace assay::coordinator {

struct StationOptions {
  std::string store{};                 // DIR; made, for its owner alone, where it is not there
  std::string database{};              // postgresql://…; empty: SQLite in DIR
  std::string listen = "127.0.0.1:0";  // HOST:PORT
  std::string tls_cert{}, tls_key{};   // PEM files, both or neither
  std::string log{};                   // file; empty: standard error; "-": none
  std::string version{};               // of the program
  std::int64_t lease_ms = 60'000;
  double requests_per_s = 5000;   // of one token
  std::int64_t sweep_ms = 2'000;  // between looks for leases that have run out
  std::uint64_t max_blob_bytes = std::uint64_t{64} << 30;
  std::uint64_t reserve_bytes = std::uint64_t{1} << 30;  // of the disk, left free
  Quota usual{};                                         // of accounts that have none of their own
  bool distinct_accounts = false;                        // leases of one order go to workers of different accounts
  WorkOptions work{};                                    // referees, and the program that is told of verdicts
  std::shared_ptr<store::Clock> clock = store::SystemClock();
};

// Whether there is the key of a coordinator in this folder.
bool IsCoordinatorStore(const std::string& store);
// The key of the coordinator of this folder; made where there is none, by one of all who ask at once.
Result<SigningKey> OpenCoordinatorKey(const std::string& store);
// The folder's database, or the one that is named, brought to this program's schema.
Result<std::unique_ptr<store::Database>> OpenCoordinatorDatabase(const std::string& store, const std::string& database);

class Station {
 public:
  // Makes what is missing. Nothing is served yet.
  static Result<std::unique_ptr<Station>> Open(const StationOptions& options);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  // Begins to serve.
  Status Start();
  // Ends requests, streams and threads. Start is not called again.
  void Stop();

  // The administrator's token, of the first start on this database that came to listen.
  const std::optional<NewToken>& first_token() const { return first_token_; }
  std::string url() const { return server_->url(); }
  Office& office() { return *office_; }
  const Routes& routes() const { return routes_; }

 private:
  Station(const StationOptions& options, SigningKey key, std::unique_ptr<store::Database> database,
          std::unique_ptr<store::Blobs> blobs, std::unique_ptr<RequestLog> log);
  Status ClaimDatabase();
  void Sweep();
  void SweepOnce(std::int64_t& swept_blobs_ms);

  const StationOptions options_;
  const SigningKey key_;
  const std::unique_ptr<store::Database> database_;
  const std::unique_ptr<store::Blobs> blobs_;
  const std::unique_ptr<RequestLog> log_;
  Changes changes_;
  Metrics metrics_;
  Book book_;
  Tokens tokens_;
  BlobRights rights_;
  Hub hub_;
  Histories histories_;
  Routes routes_;
  std::unique_ptr<Office> office_;
  std::unique_ptr<WorkOffice> work_;
  std::unique_ptr<Door> door_;
  std::optional<NewToken> first_token_;
  std::unique_ptr<HttpServer> server_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread sweeper_;
};

}  // namespace assay::coordinator
