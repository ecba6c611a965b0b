// What the store costs: small transactions on both databases against a file that is synced for each, and uploads against plain writing.
//
//     TMPDIR=/var/tmp build/release/src/assay/store/store_bench
//
// TMPDIR names the disk that is measured. Prints one line a measurement, with the ratio to its peer.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "assay/store/blobs.h"
#include "assay/store/database.h"
#include "support/postgres.h"
#include "support/scratch.h"

namespace assay::store {
namespace {

constexpr double kSeconds = 2;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Calls a second of `call`, by as many threads.
template <class Call>
double Rate(int threads, const Call& call) {
  std::vector<std::thread> workers;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(threads));
  const double begin = Now();
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      while (Now() < begin + kSeconds) call(i, counts[static_cast<std::size_t>(i)]++);
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return static_cast<double>(sum) / (Now() - begin);
}

double SyncRate(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const double rate = Rate(1, [&](int, std::int64_t) {
    const char record[200] = {};
    if (::write(file, record, sizeof(record)) < 0 || ::fdatasync(file) != 0) std::abort();
  });
  ::close(file);
  return rate;
}

void Transactions(const char* name, const std::string& where, double peer) {
  auto opened = Database::Open(where);
  if (!opened) {
    std::printf("%s: %s\n", name, opened.error().message.c_str());
    return;
  }
  Database& database = **opened;
  if (!database.Write([](Transaction& t) {
        return t.RunScript(
            "CREATE TABLE job (id BIGINT PRIMARY KEY, state TEXT NOT NULL);"
            "CREATE TABLE tenant (id BIGINT PRIMARY KEY, jobs BIGINT NOT NULL);"
            "INSERT INTO tenant (id, jobs) VALUES (0, 0), (1, 0), (2, 0), (3, 0)");
      })) {
    std::abort();
  }
  for (const int threads : {1, 4}) {
    const double rate = Rate(threads, [&](int thread, std::int64_t i) {
      const std::int64_t id = (i * 4 + thread) * 2 + (threads == 4 ? 1 : 0);
      const Status done = database.Write([&](Transaction& t) -> Status {
        ASSAY_TRY(t.Run("INSERT INTO job (id, state) VALUES ($1, $2)", {id, "submitted"}));
        ASSAY_TRY(t.Run("UPDATE tenant SET jobs = jobs + 1 WHERE id = $1", {thread}));
        return {};
      });
      if (!done) std::printf("%s: %s\n", name, done.error().message.c_str());
    });
    std::printf("%-10s %d threads: %8.0f transactions/s, %.2f of synced writes\n", name, threads, rate, rate / peer);
  }
  const double reads = Rate(2, [&](int, std::int64_t i) {
    const auto row =
        database.Read([&](Transaction& t) { return t.Run("SELECT state FROM job WHERE id = $1", {i * 8 % 1000}); });
    if (!row) std::abort();
  });
  std::printf("%-10s 2 threads: %8.0f reads/s\n", name, reads);
}

void Uploads(const std::string& folder) {
  constexpr std::size_t kTotal = std::size_t{1} << 30;
  const Bytes all(kTotal, 7);
  const Digest hash = HashBytes(all);
  const auto gigabytes = [](double seconds) { return static_cast<double>(kTotal) / 1e9 / seconds; };
  // The peer: the same bytes, hashed, written and synced by one program without any of the rest.
  double begin = Now();
  const int file = ::open((folder + "/plain").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  Sha256 plain;
  for (std::size_t at = 0; at < kTotal; at += 1 << 20) {
    if (::write(file, all.data() + at, 1 << 20) != 1 << 20) std::abort();
    plain.Update(ByteSpan(all).subspan(at, 1 << 20));
  }
  const double written = Now() - begin;
  ::fsync(file);
  ::close(file);
  const double synced = Now() - begin;
  if (plain.Finish() != hash) std::abort();
  ::unlink((folder + "/plain").c_str());
  for (const std::size_t piece : {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{8} << 20}) {
    const auto blobs = std::move(*Blobs::Open(folder + "/blobs"));
    begin = Now();
    for (std::size_t at = 0; at < kTotal; at += piece) {
      if (const auto there = blobs->Append(hash, "me", at, ByteSpan(all).subspan(at, piece)); !there) std::abort();
    }
    const double appended = Now() - begin;
    if (!blobs->Finish(hash, "me")) std::abort();
    const double finished = Now() - begin;
    if (!blobs->RemoveIf(hash, std::numeric_limits<std::int64_t>::max(), [] { return true; })) std::abort();
    std::printf("blobs, pieces of %5zu KiB: append %.2f GB/s (%.2f of plain), with the sync %.2f GB/s (%.2f of plain)\n",
                piece >> 10, gigabytes(appended), written / appended, gigabytes(finished), synced / finished);
  }
}

int Run() {
  const testkit::Scratch scratch;
  std::printf("in %s\n", scratch.path().c_str());
  const double peer = SyncRate(scratch / "synced");
  std::printf("synced writes of 200 bytes: %.0f/s\n", peer);
  Transactions("SQLite", scratch / "rows.db", peer);
  if (const auto server = testkit::PostgresServer::Start()) {
    Transactions("PostgreSQL", *(*server)->NewDatabase(), peer);
  } else {
    std::printf("PostgreSQL: %s\n", server.error().message.c_str());
  }
  Uploads(scratch.path());
  return 0;
}

}  // namespace
}  // namespace assay::store

int main() { return assay::store::Run(); }
