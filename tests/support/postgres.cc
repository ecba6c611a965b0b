#include "support/postgres.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "assay/base/file.h"
#include "assay/store/database.h"

namespace assay::testkit {
namespace {

constexpr int kStartingMs = 30'000;

// In the child: gives up root, and ends when the test does.
void Prepare(const std::string& log, const passwd* user) {
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  ::dup2(output, 1);
  ::dup2(output, 2);
  if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0))
    ::_exit(126);
  if (::chdir("/") != 0) ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
}

}  // namespace

std::string PostgresPrograms() {
  for (const char* folder : {"/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin",
                             "/usr/local/bin", "/usr/bin"}) {
    if (Exists(JoinPath(folder, "initdb")) && Exists(JoinPath(folder, "postgres"))) return folder;
  }
  return "";
}

Result<pid_t> PostgresServer::Spawn(const std::vector<std::string>& command) const {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const passwd* user = ::geteuid() == 0 ? ::getpwnam("nobody") : nullptr;
  const std::string log = folder_ + "/log";
  const pid_t child = ::fork();
  if (child < 0) return Err("cannot fork");
  if (child == 0) {
    Prepare(log, user);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  return child;
}

Status PostgresServer::Execute(const std::vector<std::string>& command) const {
  ASSAY_ASSIGN(const pid_t child, Spawn(command));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status == 0) return {};
  const auto log = ReadFile(folder_ + "/log", 1 << 20);
  return Err("{} failed: {}", command[0], log ? std::string(log->begin(), log->end()) : "");
}

Result<std::unique_ptr<PostgresServer>> PostgresServer::Start() {
  const std::string programs = PostgresPrograms();
  if (programs.empty()) return Err("PostgreSQL's server is not installed (scripts/bootstrap.sh tests)");
  // In memory where there is such a place. The name must be short: it becomes part of a socket's.
  const char* named = std::getenv("TMPDIR");
  std::string folder = JoinPath(named != nullptr ? named : IsDirectory("/dev/shm") ? "/dev/shm" : "/tmp", "assay-pg.XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) return Err("{}: cannot create", folder);
  std::unique_ptr<PostgresServer> server(new PostgresServer(folder));
  if (::geteuid() == 0) {
    const passwd* user = ::getpwnam("nobody");
    if (user == nullptr || ::chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0)
      return Err("{}: cannot give it to nobody", folder);
  }
  ASSAY_TRY(server->Execute({programs + "/initdb", "--pgdata=" + folder + "/data", "--username=assay", "--auth=trust",
                             "--encoding=UTF8", "--locale=C", "--no-sync"}));
  ASSAY_TRY(server->Launch());
  return server;
}

Status PostgresServer::Launch() {
  ASSAY_ASSIGN(server_, Spawn({PostgresPrograms() + "/postgres", "-D", folder_ + "/data", "-k", folder_, "-c",
                               "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "max_connections=60"}));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kStartingMs);
  for (;;) {
    const auto database = store::Database::Open(Url(folder_, "postgres"));
    if (database) return {};
    int status = 0;
    if (::waitpid(server_, &status, WNOHANG) == server_ || std::chrono::steady_clock::now() > deadline) {
      return Err("the server does not start: {}", database.error().message);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void PostgresServer::End(int signal) {
  if (server_ < 0) return;
  ::kill(server_, signal);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

void PostgresServer::Stop() { End(SIGINT); }

// Its immediate shutdown: no checkpoint, no farewell to clients, and recovery at the next start. Killing the parent alone would leave its
// children and their memory behind.
void PostgresServer::Kill() { End(SIGQUIT); }

PostgresServer::~PostgresServer() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string PostgresServer::Url(const std::string& socket_folder, const std::string& database) {
  std::string encoded;
  for (const char c : socket_folder) encoded += c == '/' ? std::string("%2F") : std::string(1, c);
  return fmt::format("postgresql://assay:unused-secret@/{}?host={}", database, encoded);
}

Result<std::string> PostgresServer::NewDatabase() {
  const std::string name = fmt::format("test{}", databases_++);
  ASSAY_TRY(Execute({PostgresPrograms() + "/psql", "--no-psqlrc", "--quiet", "--host=" + folder_, "--username=assay",
                     "--dbname=postgres", "--command=CREATE DATABASE " + name + " TEMPLATE template0"}));
  return Url(folder_, name);
}

}  // namespace assay::testkit
