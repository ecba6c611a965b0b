// PostgresServer: a PostgreSQL of a test's own, on a socket in a temporary folder, gone when the test is. As user nobody where the test runs
// as root, since PostgreSQL refuses root. A server also ends with the thread that started it, so that a test that is killed leaves none. Not
// synchronised.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "assay/base/result.h"

namespace assay::testkit {

class PostgresServer {
 public:
  static Result<std::unique_ptr<PostgresServer>> Start();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // The URL of an empty database of its own.
  Result<std::string> NewDatabase();
  // The same database by another socket, such as a proxy's.
  static std::string Url(const std::string& socket_folder, const std::string& database);

  Status Launch();  // after Stop or Kill
  void Stop();      // ends connections, then the server
  void Kill();      // as a power cut would: nothing is written any more

  const std::string& folder() const { return folder_; }  // of the socket .s.PGSQL.5432

 private:
  explicit PostgresServer(std::string folder) : folder_(std::move(folder)) {}
  Status Execute(const std::vector<std::string>& command) const;
  Result<pid_t> Spawn(const std::vector<std::string>& command) const;
  void End(int signal);

  std::string folder_;
  pid_t server_ = -1;
  int databases_ = 0;
};

// Where the server's programs are, or empty.
std::string PostgresPrograms();

}  // namespace assay::testkit
