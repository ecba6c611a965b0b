#include "assay/coordinator/station.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "assay/base/file.h"
#include "assay/coordinator/schema.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::int64_t kUploadAgeMs = 24 * 3600 * 1000;  // after which an upload that nobody goes on with is forgotten
constexpr std::int64_t kSweepBlobsMs = 600'000;

// Whether a folder holds things, and none of a coordinator. What begins with a dot and what a file system puts into itself is nobody's.
Result<bool> IsOfOthers(const std::string& folder) {
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(folder));
  const auto is_own = [](const std::string& name) { return name.starts_with("coordinator."); };
  const auto counts = [](const std::string& name) { return !name.starts_with('.') && name != "lost+found"; };
  return std::ranges::none_of(names, is_own) && std::ranges::any_of(names, counts);
}

Status MakeStore(const std::string& store) {
  if (IsDirectory(store)) {
    ASSAY_ASSIGN(const bool others, IsOfOthers(store));
    if (others) return Err("{}: is not a coordinator's folder (it has no coordinator.key), and is not empty", store);
    return {};
  }
  std::string parent = store;
  while (parent.size() > 1 && parent.back() == '/') parent.pop_back();
  const std::size_t slash = parent.find_last_of('/');
  if (slash != std::string::npos && slash > 0) ASSAY_TRY(MakeDirectories(parent.substr(0, slash)));
  if (::mkdir(store.c_str(), 0700) != 0 && errno != EEXIST)
    return Err("{}: cannot be created: {}", store, std::generic_category().message(errno));
  return {};
}

// As many connections as descriptors allow: a server takes half of them.
std::size_t RaiseDescriptors(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, 4 * connections);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  }
  return std::min<std::size_t>(connections, static_cast<std::size_t>(limit.rlim_cur) / 2);
}

}  // namespace

bool IsCoordinatorStore(const std::string& store) { return Exists(JoinPath(store, "coordinator.key")); }

Result<SigningKey> OpenCoordinatorKey(const std::string& store) {
  const std::string path = JoinPath(store, "coordinator.key");
  if (!Exists(path)) {
    const Status written = WriteKeyFiles(path, SigningKey::Generate("coordinator"));
    // Another process may have been faster; its key is the one.
    if (!written && !Exists(path)) return tl::unexpected(written.error());
  }
  return ReadSigningKey(path);
}

Result<std::unique_ptr<store::Database>> OpenCoordinatorDatabase(const std::string& store, const std::string& database) {
  const std::string where = database.empty() ? JoinPath(store, "coordinator.db") : database;
  ASSAY_ASSIGN(auto opened, store::Database::Open(where, {.connections = 8}));
  ASSAY_TRY(store::Migrate(*opened, Schema()));
  return opened;
}

Result<std::unique_ptr<Station>> Station::Open(const StationOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) return Err("--tls-cert and --tls-key: expected both or neither");
  // A database that is elsewhere comes first: where it cannot be used, nothing is made here.
  std::unique_ptr<store::Database> database;
  if (!options.database.empty()) {
    ASSAY_ASSIGN(database, OpenCoordinatorDatabase(options.store, options.database));
  }
  ASSAY_TRY(MakeStore(options.store));
  ASSAY_ASSIGN(SigningKey key, OpenCoordinatorKey(options.store));
  if (database == nullptr) {
    ASSAY_ASSIGN(database, OpenCoordinatorDatabase(options.store, ""));
  }
  ASSAY_ASSIGN(auto blobs, store::Blobs::Open(JoinPath(options.store, "blobs"), {.max_blob_bytes = options.max_blob_bytes,
                                                                                 .reserve_bytes = options.reserve_bytes,
                                                                                 .each_sends = true,
                                                                                 .clock = options.clock}));
  ASSAY_ASSIGN(auto log, RequestLog::Open(options.log));
  std::unique_ptr<Station> station(new Station(options, std::move(key), std::move(database), std::move(blobs), std::move(log)));
  ASSAY_TRY(station->ClaimDatabase());
  return station;
}

Station::Station(const StationOptions& options, SigningKey key, std::unique_ptr<store::Database> database,
                 std::unique_ptr<store::Blobs> blobs, std::unique_ptr<RequestLog> log)
    : options_(options),
      key_(std::move(key)),
      database_(std::move(database)),
      blobs_(std::move(blobs)),
      log_(std::move(log)),
      book_(*database_, key_,
            {.lease_ms = options.lease_ms,
             .clock = options.clock,
             .draw = RandomDigest,
             .distinct_accounts = options.distinct_accounts,
             .changed = [this](const std::string& order) { changes_.Tell(order); },
             .announce_verdicts = !options.work.on_verdict.empty()}),
      tokens_(*database_, options.clock),
      rights_(*database_, options.clock, options.usual),
      hub_(*database_, *log_),
      histories_(*database_) {
  office_ = std::make_unique<Office>(Office{.database = *database_,
                                            .blobs = *blobs_,
                                            .key = key_,
                                            .book = book_,
                                            .tokens = tokens_,
                                            .rights = rights_,
                                            .hub = hub_,
                                            .histories = histories_,
                                            .metrics = metrics_,
                                            .log = *log_,
                                            .clock = options_.clock,
                                            .version = options_.version,
                                            .lease_ms = options_.lease_ms,
                                            .max_blob_bytes = options_.max_blob_bytes});
  changes_.Listen([this](const std::string&) { hub_.Nudge(); });
  AddBlobRoutes(routes_, *office_);
  AddOrderRoutes(routes_, *office_);
  AddAdminRoutes(routes_, *office_);
  AddMlflowRoutes(routes_, *office_);
  AddViewRoutes(routes_, *office_);
  AddPageRoutes(routes_);
  work_ = std::make_unique<WorkOffice>(*office_, changes_, options_.work);
  work_->AddRoutes(routes_);
  AddOpenRoutes(routes_, *office_);
  door_ = std::make_unique<Door>(routes_, tokens_, *log_, metrics_,
                                 DoorOptions{.requests_per_s = options_.requests_per_s, .clock = options_.clock});
}

Station::~Station() { Stop(); }

Status Station::ClaimDatabase() {
  const std::string own = key_.verify_key().ToString();
  return database_->Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("INSERT INTO settings (name, value) VALUES ('key', $1) ON CONFLICT (name) DO NOTHING", {own}));
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT value FROM settings WHERE name = 'key'"));
    ASSAY_ASSIGN(const std::string key, rows[0].Text(0));
    if (key == own) return {};
    return Err(
        "{}: belongs to the coordinator {}, not to {} of {}; coordinators that share a database share the folder of --store "
        "too",
        database_->name(), key, own, options_.store);
  });
}

Status Station::Start() {
  constexpr std::size_t kConnections = 8192;
  ServerOptions options;
  options.listen = options_.listen;
  options.certificate_file = options_.tls_cert;
  options.key_file = options_.tls_key;
  options.workers = 8;
  options.max_queued = 4096;
  options.max_connections = RaiseDescriptors(kConnections);
  // One account may have thousands of workers; half of everything is left to the others.
  options.max_connections_per_peer = std::max<std::size_t>(16, options.max_connections / 2);
  options.max_requests_per_peer = 2048;
  options.max_body_bytes = 64 << 10;  // of routes that do not say
  options.idle_timeout_ms = 75'000;
  options.transfer_threads = 4;
  options.own_reply = [this](const OwnReply& own) { return door_->AnswerOwn(own); };
  ASSAY_ASSIGN(server_, HttpServer::Serve(options, door_->service()));
  // It is shown once: where nobody can listen, none is made.
  ASSAY_ASSIGN(first_token_, tokens_.MakeFirst());
  sweeper_ = std::thread([this] { Sweep(); });
  return {};
}

void Station::Stop() {
  if (server_ != nullptr) server_->Stop();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (sweeper_.joinable()) sweeper_.join();
  work_.reset();
}

void Station::Sweep() {
  std::int64_t swept_blobs_ms = options_.clock->SteadyMs();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(options_.sweep_ms), [&] { return ending_; })) {
    lock.unlock();
    SweepOnce(swept_blobs_ms);
    lock.lock();
  }
}

void Station::SweepOnce(std::int64_t& swept_blobs_ms) {
  if (const Status swept = book_.Sweep(); !swept) log_->Event("sweep", swept.error().message);
  const std::int64_t now_ms = options_.clock->SteadyMs();
  if (now_ms - swept_blobs_ms < kSweepBlobsMs) return;
  swept_blobs_ms = now_ms;
  if (const auto swept = blobs_->Sweep(kUploadAgeMs); !swept) log_->Event("sweep", swept.error().message);
  if (const Status swept = rights_.Sweep(kUploadAgeMs + 3600 * 1000); !swept) log_->Event("sweep", swept.error().message);
}

}  // namespace assay::coordinator
