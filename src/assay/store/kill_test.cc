// A process that writes blobs and rows is killed at random moments: no blob is half there, no row that was reported is lost, none refers to a
// blob that is absent, and the next process goes on where it was.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "assay/store/blobs.h"
#include "assay/store/descriptor.h"
#include "support/engines.h"

namespace assay::store {
namespace {

constexpr int kMoments = 50;
constexpr unsigned kSeed = 20261116;
constexpr std::size_t kPieceBytes = 20'000;

class KillTest : public EngineTest {};

Bytes Content(std::int64_t item) {
  std::minstd_rand dice(static_cast<unsigned>(item + 1));
  Bytes bytes(dice() % 100'000 + 1);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(dice() >> 8);
  return bytes;
}

Result<std::int64_t> Items(Database& database) {
  return database.Read([](Transaction& t) -> Result<std::int64_t> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT n FROM total"));
    return rows[0].Integer(0);
  });
}

Status AddItem(Database& database, Blobs& blobs, std::int64_t item) {
  const Bytes content = Content(item);
  const Digest hash = HashBytes(content);
  ASSAY_ASSIGN(std::uint64_t at, blobs.Begin(hash, "writer", content.size()));
  while (at < content.size()) {
    ASSAY_ASSIGN(at,
                 blobs.Append(hash, "writer", at, ByteSpan(content).subspan(at, std::min(kPieceBytes, content.size() - at))));
  }
  ASSAY_TRY(blobs.Finish(hash, "writer"));
  return database.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("INSERT INTO item (id, hash) VALUES ($1, $2)", {item, hash.hex()}));
    ASSAY_TRY(t.Run("UPDATE total SET n = n + 1"));
    return {};
  });
}

// The life of the process: adds items after those that are there, and reports each that is done.
[[noreturn]] void Work(const std::string& where, const std::string& folder, int reports) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto database = Database::Open(where);
  const auto blobs = Blobs::Open(folder, {.reserve_bytes = 0});
  if (!database || !blobs) ::_exit(1);
  const auto items = Items(**database);
  if (!items) ::_exit(2);
  for (std::int64_t item = *items;; ++item) {
    if (!AddItem(**database, **blobs, item)) ::_exit(3);
    if (::write(reports, &item, sizeof(item)) != sizeof(item)) ::_exit(4);
  }
}

// Reads reports until there are `wanted`, and returns the last; -1 where there was none.
std::int64_t ReadReports(int reports, int wanted) {
  std::int64_t last = -1;
  for (int i = 0; i < wanted; ++i) {
    std::int64_t item = 0;
    if (::read(reports, &item, sizeof(item)) != sizeof(item)) break;
    last = item;
  }
  return last;
}

TEST_P(KillTest, NothingIsHalfThere) {
  ASSERT_TRUE(database_->Write([](Transaction& t) {
    return t.RunScript(
        "CREATE TABLE item (id BIGINT PRIMARY KEY, hash TEXT NOT NULL); CREATE TABLE total (n BIGINT NOT NULL); INSERT INTO "
        "total (n) VALUES (0)");
  }));
  std::printf("seed %u\n", kSeed);
  std::minstd_rand dice(kSeed);
  std::int64_t checked = 0;
  for (int moment = 0; moment < kMoments; ++moment) {
    database_.reset();  // a file that SQLite has open must not be carried over a fork
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      Work(where_, scratch_ / "blobs", ends[1]);
    }
    ::close(ends[1]);
    const Descriptor reports(ends[0]);
    // A moment after some of the reports, or before the first.
    std::int64_t last = ReadReports(reports.get(), static_cast<int>(dice() % 4));
    ::usleep(static_cast<useconds_t>(dice() % 15'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the process ended by itself, with " << WEXITSTATUS(status);
    last = std::max(last, ReadReports(reports.get(), 1 << 20));

    database_ = Open();
    const auto blobs = std::move(*Blobs::Open(scratch_ / "blobs", {.reserve_bytes = 0}));
    const std::int64_t items = *Items(*database_);
    ASSERT_GE(items, last + 1) << "moment " << moment << ": a row that was reported is lost";
    ASSERT_LE(items, std::max(last + 1, checked) + 1) << "moment " << moment;
    ASSERT_EQ(*Number("SELECT COUNT(*) FROM item"), items);
    for (; checked < items; ++checked) {
      const Bytes content = Content(checked);
      ASSERT_EQ(*Number("SELECT COUNT(*) FROM item WHERE id = $1 AND hash = $2", {checked, HashBytes(content).hex()}), 1);
      const auto reader = blobs->OpenForReading(HashBytes(content));
      ASSERT_TRUE(reader) << "moment " << moment << ": item " << checked << " has no blob";
      Bytes back((*reader)->size());
      ASSERT_TRUE((*reader)->Read(0, back));
      ASSERT_EQ(back, content) << "moment " << moment;
    }
    std::size_t whole = 0;
    for (int first = 0; first < 256; ++first) whole += blobs->List(static_cast<std::uint8_t>(first))->size();
    ASSERT_LE(whole, static_cast<std::size_t>(items) + 1) << "moment " << moment;
  }
  EXPECT_GT(checked, kMoments / 2);
}

INSTANTIATE_TEST_SUITE_P(Every, KillTest, ::testing::ValuesIn(Engines(true)), EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KillTest);

}  // namespace
}  // namespace assay::store
