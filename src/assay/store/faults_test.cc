// Requests that are repeated until they succeed have their effect once, wherever the store fails meanwhile: on it the coordinator relies.
#include <gtest/gtest.h>

#include "support/engines.h"
#include "support/faulty_store.h"

namespace assay::store {
namespace {

using testkit::FailAt;
using testkit::Point;
using testkit::Trouble;

constexpr std::int64_t kRequests = 4;

class FaultsTest : public EngineTest {};

// Adds one to the total, once for each id.
Status Count(Database& database, std::int64_t id) {
  return database.Write([&](Transaction& t) -> Status {
    ASSAY_ASSIGN(const Rows inserted, t.Run("INSERT INTO request (id) VALUES ($1) ON CONFLICT DO NOTHING", {id}));
    if (inserted.changed == 0) return {};
    ASSAY_TRY(t.Run("UPDATE total SET n = n + 1"));
    return {};
  });
}

TEST_P(FaultsTest, ARepeatedRequestCountsOnce) {
  ASSERT_TRUE(Do("CREATE TABLE request (id BIGINT PRIMARY KEY)"));
  ASSERT_TRUE(Do("CREATE TABLE total (n BIGINT NOT NULL)"));
  std::unique_ptr<Database> database = std::move(database_);
  int failures = 0, in_doubt = 0;
  for (const Point point : {Point::kBegin, Point::kStatement, Point::kCommit}) {
    for (const Trouble trouble : {Trouble::kBefore, Trouble::kLostRequest, Trouble::kLostAnswer}) {
      for (std::int64_t k = 0; k < 2 * kRequests; ++k) {
        ASSERT_TRUE(database->Write([](Transaction& t) {
          return t.RunScript("DELETE FROM request; DELETE FROM total; INSERT INTO total (n) VALUES (0)");
        }));
        testkit::FaultyDatabase faulty(std::move(database), FailAt(point, k, trouble));
        for (std::int64_t id = 0; id < kRequests; ++id) {
          for (Status done = Count(faulty, id); !done; done = Count(faulty, id)) {
            ++failures;
            in_doubt += done.error().unknown_outcome ? 1 : 0;
            ASSERT_EQ(done.error().message, "injected fault");
          }
        }
        database = faulty.Release();
        const auto total = database->Read([](Transaction& t) -> Result<std::int64_t> {
          ASSAY_ASSIGN(const Rows rows, t.Run("SELECT n FROM total"));
          return rows[0].Integer(0);
        });
        ASSERT_EQ(*total, kRequests) << "point " << static_cast<int>(point) << ", trouble " << static_cast<int>(trouble)
                                     << ", k " << k;
      }
    }
  }
  EXPECT_EQ(failures, 3 * (kRequests + 2 * kRequests + kRequests));
  EXPECT_EQ(in_doubt, 2 * kRequests);
}

INSTANTIATE_TEST_SUITE_P(Every, FaultsTest, ::testing::ValuesIn(Engines(false)), EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FaultsTest);

TEST(BlobFaults, ARepeatedUploadIsWhole) {
  const Bytes content(10'000, 42);
  const Digest hash = HashBytes(content);
  int failures = 0;
  for (const Point point : {Point::kBlobAppend, Point::kBlobFinish}) {
    for (const Trouble trouble : {Trouble::kBefore, Trouble::kLostRequest, Trouble::kLostAnswer, Trouble::kHalf}) {
      for (std::int64_t k = 0; k < 5; ++k) {
        const testkit::Scratch scratch;
        testkit::FaultyBlobs blobs(std::move(*Blobs::Open(scratch.path(), {.reserve_bytes = 0})), FailAt(point, k, trouble));
        const auto upload = [&]() -> Status {
          ASSAY_ASSIGN(std::uint64_t at, blobs.Begin(hash, "me", content.size()));
          while (at < content.size()) {
            ASSAY_ASSIGN(at, blobs.Append(hash, "me", at,
                                          ByteSpan(content).subspan(at, std::min<std::size_t>(3000, content.size() - at))));
          }
          return blobs.Finish(hash, "me");
        };
        for (Status done = upload(); !done; done = upload()) ++failures;
        Bytes back(content.size());
        ASSERT_TRUE((*blobs.OpenForReading(hash))->Read(0, back));
        ASSERT_EQ(back, content);
      }
    }
  }
  EXPECT_EQ(failures, 4 * 4 + 4);
}

}  // namespace
}  // namespace assay::store
