#include <string>

#include "support/test_station.h"

namespace assay::coordinator {
namespace {

class BlobRoutesTest : public StationTest {};
INSTANTIATE_TEST_SUITE_P(Engines, BlobRoutesTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlobRoutesTest);

std::string HashOf(std::string_view bytes) { return HashBytes(AsBytes(bytes)).hex(); }
std::string PathOf(std::string_view bytes, std::size_t offset) {
  return fmt::format("/v1/blobs/{}?offset={}&size={}", HashOf(bytes), offset, bytes.size());
}
std::string TextOf(const HttpResponse& response) { return {response.bytes().begin(), response.bytes().end()}; }

TEST_P(BlobRoutesTest, AnUploadGoesOnWhereItBrokeOff) {
  TestCaller client = As(AccountRole::kClient);
  const std::string blob(100'000, 'x');
  const std::string path = "/v1/blobs/" + HashOf(blob);
  HttpResponse head = client.Send("HEAD", path);
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.Header("Assay-Offset"), "0");
  const HttpResponse part = client.Send("PUT", PathOf(blob, 0), blob.substr(0, 30'000));
  EXPECT_EQ(part.status, 202);
  EXPECT_EQ(TestCaller::JsonOf(part)["offset"], 30'000);
  Restart();
  client = Call(client.token());
  EXPECT_EQ(client.Send("HEAD", path).Header("Assay-Offset"), "30000");
  const HttpResponse gap = client.Send("PUT", PathOf(blob, 40'000), blob.substr(40'000));
  EXPECT_EQ(gap.status, 409);
  EXPECT_EQ(CodeOf(gap), "offset");
  EXPECT_EQ(gap.Header("Assay-Offset"), "30000");
  // What was sent already may be sent again.
  EXPECT_EQ(client.StatusOf("PUT", PathOf(blob, 20'000), blob.substr(20'000)), 201);
  EXPECT_EQ(client.StatusOf("PUT", PathOf(blob, 20'000), blob.substr(20'000)), 201);
  head = client.Send("HEAD", path);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("Content-Length"), "100000");
  EXPECT_EQ(TextOf(client.Send("GET", path)), blob);
}

TEST_P(BlobRoutesTest, ARangeIsSentAlone) {
  TestCaller client = As(AccountRole::kClient);
  const std::string path = "/v1/blobs/" + client.Upload("0123456789");
  const auto get = [&](const std::string& range) { return client.Send("GET", path, {}, {{"Range", range}}); };
  EXPECT_EQ(TextOf(get("bytes=4-")), "456789");
  EXPECT_EQ(get("bytes=4-").status, 206);
  EXPECT_EQ(get("bytes=4-").Header("Content-Range"), "bytes 4-9/10");
  EXPECT_EQ(TextOf(get("bytes=2-3")), "23");
  EXPECT_EQ(TextOf(get("bytes=2-300")), "23456789");
  EXPECT_EQ(get("bytes=10-").status, 416);
  EXPECT_EQ(TextOf(get("bytes=-3")), "0123456789");
  EXPECT_EQ(TextOf(get("lines=1-2")), "0123456789");
}

TEST_P(BlobRoutesTest, OtherBytesThanTheHashSaysAreRefused) {
  TestCaller client = As(AccountRole::kClient);
  EXPECT_EQ(client.StatusOf("PUT", PathOf("right", 0), "wrong"), 422);
  EXPECT_EQ(client.Send("HEAD", "/v1/blobs/" + HashOf("right")).Header("Assay-Offset"), "0");
  EXPECT_EQ(client.StatusOf("PUT", PathOf("right", 0), "right"), 201);
  EXPECT_EQ(client.StatusOf("PUT", PathOf("short", 0), "much longer than that"), 400);
  EXPECT_EQ(client.StatusOf("PUT", "/v1/blobs/" + HashOf("x")), 400);  // no size
  EXPECT_EQ(client.StatusOf("PUT", "/v1/blobs/abc?size=1", "x"), 400);
  EXPECT_EQ(client.StatusOf("PUT", PathOf("x", 5), "x"), 400);
  EXPECT_EQ(client.StatusOf("PUT", "/v1/blobs/" + HashOf("x") + "?size=99999999999999", "x"), 413);
  EXPECT_EQ(client.StatusOf("PUT", PathOf("", 0)), 201);
  EXPECT_EQ(client.Send("HEAD", "/v1/blobs/" + HashOf("")).Header("Content-Length"), "0");
}

TEST_P(BlobRoutesTest, AHashGivesNoRightToABlobOfAnother) {
  TestCaller alice = As(AccountRole::kClient, "alice"), bob = As(AccountRole::kClient, "bob");
  const std::string secret(50'000, 's');
  const std::string path = "/v1/blobs/" + alice.Upload(secret);
  EXPECT_EQ(bob.StatusOf("GET", path), 404);
  EXPECT_EQ(bob.Send("HEAD", path).Header("Assay-Offset"), "0");
  // Neither does the beginning of an upload, nor one without its bytes.
  EXPECT_EQ(bob.StatusOf("PUT", PathOf(secret, 0)), 202);
  EXPECT_EQ(bob.StatusOf("PUT", PathOf(secret, secret.size())), 409);
  EXPECT_EQ(bob.StatusOf("PUT", PathOf(secret, 0), secret.substr(0, 49'999)), 202);
  EXPECT_EQ(bob.StatusOf("PUT", PathOf(secret, 49'999), "?"), 422);
  EXPECT_EQ(bob.StatusOf("GET", path), 404);
  // Who has all bytes may have them.
  EXPECT_EQ(bob.StatusOf("PUT", PathOf(secret, 0), secret), 201);
  EXPECT_EQ(TextOf(bob.Send("GET", path)), secret);
  EXPECT_EQ(TextOf(As(AccountRole::kClient, "alice").Send("GET", path)), secret);
  EXPECT_EQ(Admin().StatusOf("GET", path), 200);
}

TEST_P(BlobRoutesTest, AQuotaBoundsWhatIsUploadedAndWhatIsBegun) {
  TestCaller alice = As(AccountRole::kClient, "alice");
  TestCaller admin = Admin();
  EXPECT_EQ(admin.StatusOf("PUT", "/v1/admin/quotas/nobody", R"({"orders":1,"blob_bytes":1000})"), 404);
  EXPECT_EQ(admin.StatusOf("PUT", "/v1/admin/quotas/alice", R"({"orders":1,"blob_bytes":1000})"), 200);
  alice.Upload(std::string(600, 'a'));
  const HttpResponse refused = alice.Send("PUT", PathOf(std::string(500, 'b'), 0), "b");
  EXPECT_EQ(refused.status, 507);
  EXPECT_EQ(CodeOf(refused), "quota");
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(std::string(400, 'c'), 0), "c"), 202);
  EXPECT_EQ(alice.StatusOf("PUT", PathOf("d", 0), "d"), 507);
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(std::string(400, 'c'), 1), std::string(399, 'c')), 201);
  const Json quota = admin.Read("GET", "/v1/admin/quotas/alice");
  EXPECT_EQ(quota["blob_bytes_used"], 1000);
  As(AccountRole::kClient, "bob").Upload(std::string(5000, 'b'));
}

// Whoever says another size meanwhile lightens nothing that is under way.
TEST_P(BlobRoutesTest, WhatAnUploadWeighsOnlyGrowsUntilItIsWhole) {
  TestCaller alice = As(AccountRole::kClient, "alice");
  TestCaller admin = Admin();
  EXPECT_EQ(admin.StatusOf("PUT", "/v1/admin/quotas/alice", R"({"orders":1,"blob_bytes":1000})"), 200);
  const auto used = [&] { return admin.Read("GET", "/v1/admin/quotas/alice")["blob_bytes_used"].get<int>(); };
  const std::string large(900, 'a'), other(900, 'b');
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(large, 0), large.substr(0, 10)), 202);
  const std::string smaller = fmt::format("/v1/blobs/{}?offset=0&size=10", HashOf(large));
  alice.StatusOf("PUT", smaller);
  EXPECT_EQ(used(), 900);
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(other, 0), other), 507);
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(large, 0), large), 201);
  EXPECT_EQ(used(), 900);
  // Nor may it be begun as something large that has no place.
  EXPECT_EQ(alice.StatusOf("PUT", fmt::format("/v1/blobs/{}?offset=0&size=10", HashOf(other)), other.substr(0, 5)), 202);
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(other, 5), other.substr(5)), 507);
  EXPECT_EQ(used(), 910);
  // What was thought larger weighs what it has when it is whole.
  const std::string small(20, 'c');
  EXPECT_EQ(alice.StatusOf("PUT", fmt::format("/v1/blobs/{}?offset=0&size=80", HashOf(small)), small.substr(0, 5)), 202);
  EXPECT_EQ(used(), 990);
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(small, 5), small.substr(5)), 201);
  EXPECT_EQ(used(), 930);
}

// By a coordinator that has forgotten the beginning, or an operator who has lowered the quota meanwhile.
TEST_P(BlobRoutesTest, WhatIsWholeIsWeighedOnceMore) {
  TestCaller alice = As(AccountRole::kClient, "alice");
  TestCaller admin = Admin();
  const std::string blob(900, 'a');
  EXPECT_EQ(alice.StatusOf("PUT", PathOf(blob, 0), blob.substr(0, 10)), 202);
  EXPECT_EQ(admin.StatusOf("PUT", "/v1/admin/quotas/alice", R"({"orders":1,"blob_bytes":100})"), 200);
  EXPECT_FALSE(station_->office().rights.Finish("alice", HashBytes(AsBytes(blob)), 900));
}

class FullDiskTest : public StationTest {
  void Configure(StationOptions& options) override { options.reserve_bytes = std::uint64_t{1} << 60; }
};
INSTANTIATE_TEST_SUITE_P(Engines, FullDiskTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FullDiskTest);

TEST_P(FullDiskTest, AFullDiskIsSaid) {
  const HttpResponse refused = As(AccountRole::kClient).Send("PUT", PathOf("x", 0), "x");
  EXPECT_EQ(refused.status, 507);
  EXPECT_EQ(CodeOf(refused), "full");
  EXPECT_EQ(TextOf(refused).find(scratch_.path()), std::string::npos);  // not where
}

}  // namespace
}  // namespace assay::coordinator
