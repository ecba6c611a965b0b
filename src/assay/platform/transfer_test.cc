#include "assay/platform/transfer.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "assay/base/file.h"
#include "assay/net/http_server.h"
#include "assay/net/target.h"
#include "support/scratch.h"

namespace assay::platform {
namespace {

// A keeper of blobs as docs/formats/platform.md has it, whose connection breaks now and then.
class Keeper {
 public:
  explicit Keeper(std::size_t breaks_after) : breaks_after_(breaks_after) {
    auto server = HttpServer::Start({}, [this](const HttpRequest& request) { return Respond(request); });
    if (!server) ADD_FAILURE() << server.error().message;
    server_ = *std::move(server);
    auto client = ApiClient::Create({.server = server_->url(), .patience_ms = 5'000});
    if (!client) ADD_FAILURE() << client.error().message;
    client_ = *std::move(client);
  }
  ApiClient& client() { return *client_; }
  std::map<std::string, Bytes> blobs;
  int puts = 0, gets = 0;
  bool corrupt = false;

 private:
  HttpResponse Respond(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    const auto target = ParseTarget(request.target);
    const std::string name = target->path.back();
    Bytes& blob = blobs[name];
    const bool whole = HashBytes(blob).hex() == name;
    HttpResponse response;
    if (request.method == "HEAD") {
      response.status = whole ? 200 : 404;
      if (!whole) response.headers.emplace_back("Assay-Offset", std::to_string(blob.size()));
      return response;
    }
    if (request.method == "PUT") {
      ++puts;
      const std::size_t offset = std::stoul(std::string(*target->Query("offset")));
      const std::size_t size = std::stoul(std::string(*target->Query("size")));
      if (offset != blob.size()) {
        response.status = 409;
        const std::string text = R"({"error":"offset","code":"offset"})";
        response.body.assign(text.begin(), text.end());
        return response;
      }
      // Keeps only a part, as where the connection broke.
      const std::size_t taken = std::min(request.body.size(), breaks_after_);
      blob.insert(blob.end(), request.body.begin(), request.body.begin() + static_cast<std::ptrdiff_t>(taken));
      if (blob.size() == size && HashBytes(blob).hex() != name) {
        blob.clear();
        response.status = 422;
        return response;
      }
      response.status = blob.size() == size ? 201 : 202;
      return response;
    }
    ++gets;
    std::size_t from = 0;
    if (const std::string_view range = request.Header("range"); !range.empty()) {
      from = std::stoul(std::string(range.substr(6)));
      response.status = 206;
    }
    if (blob.empty() || from >= blob.size()) {
      response.status = blob.empty() ? 404 : 416;
      return response;
    }
    const std::size_t count = std::min(blob.size() - from, breaks_after_);
    response.body.assign(blob.begin() + static_cast<std::ptrdiff_t>(from),
                         blob.begin() + static_cast<std::ptrdiff_t>(from + count));
    if (corrupt) response.body[0] ^= 1;
    return response;
  }

  const std::size_t breaks_after_;
  std::mutex mutex_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<ApiClient> client_;
};

Bytes Noise(std::size_t size) {
  Bytes bytes(size);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST(Transfer, UploadsGoOnFromWhereTheyAre) {
  const testkit::Scratch scratch;
  const std::string path = scratch / "file";
  const Bytes bytes = Noise(100'000);
  ASSERT_TRUE(WriteFileAtomic(path, bytes));
  const auto blob = HashFile(path);
  ASSERT_TRUE(blob);
  EXPECT_EQ(blob->sha256, HashBytes(bytes));
  EXPECT_EQ(blob->bytes, bytes.size());

  Keeper keeper(30'000);
  std::uint64_t told = 0;
  const auto sent = UploadBlob(keeper.client(), path, *blob, [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, bytes.size());
    told = std::max(told, done);
  });
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(keeper.blobs[blob->sha256.hex()], bytes);
  EXPECT_EQ(keeper.puts, 4);
  EXPECT_EQ(told, bytes.size());
  ASSERT_TRUE(UploadBlob(keeper.client(), path, *blob));
  EXPECT_EQ(keeper.puts, 4) << "what is there is not sent again";

  const Bytes nothing;
  const BlobInfo empty{.sha256 = HashBytes(nothing), .bytes = 0};
  EXPECT_TRUE(UploadBytes(keeper.client(), nothing, empty));
}

TEST(Transfer, AFileThatChangedIsAnError) {
  const testkit::Scratch scratch;
  const std::string path = scratch / "file";
  ASSERT_TRUE(WriteFileAtomic(path, Noise(1000)));
  const auto blob = HashFile(path);
  ASSERT_TRUE(WriteFileAtomic(path, Bytes(1000)));
  Keeper keeper(1 << 20);
  const auto sent = UploadBlob(keeper.client(), path, *blob);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().status, 422);
}

TEST(Transfer, DownloadsAreWholeOrAbsent) {
  const testkit::Scratch scratch;
  const std::string path = scratch / "got";
  const Bytes bytes = Noise(50'000);
  const Digest name = HashBytes(bytes);
  {
    Keeper keeper(1 << 20);
    keeper.blobs[name.hex()] = bytes;
    const auto got = DownloadBlob(keeper.client(), name, bytes.size(), path);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*ReadFile(path, 1 << 20), bytes);
    EXPECT_EQ(*FetchBlob(keeper.client(), name, bytes.size()), bytes);

    const auto large = DownloadBlob(keeper.client(), name, bytes.size() - 1, scratch / "large");
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, kOtherContent);
    keeper.corrupt = true;
    const auto other = DownloadBlob(keeper.client(), name, bytes.size(), scratch / "other");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, kOtherContent);
    EXPECT_FALSE(FetchBlob(keeper.client(), name, bytes.size()));
    keeper.corrupt = false;
    const auto missing = DownloadBlob(keeper.client(), HashBytes(Bytes(3)), 100, scratch / "missing");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().status, 404);
  }
  EXPECT_EQ(ListDirectory(scratch.path())->size(), 1U) << "nothing is left of what failed";
}

TEST(Transfer, DownloadsGoOnFromWhatIsThere) {
  const testkit::Scratch scratch;
  const std::string path = scratch / "got";
  const Bytes bytes = Noise(50'000);
  const Digest name = HashBytes(bytes);
  const std::string part = path + "." + name.hex() + ".part";
  Keeper keeper(1 << 20);
  keeper.blobs[name.hex()] = bytes;
  ASSERT_TRUE(WriteFileAtomic(part, ByteSpan(bytes).first(20'000)));
  std::uint64_t first = 0;
  const auto got = DownloadBlob(keeper.client(), name, bytes.size(), path, [&](std::uint64_t done, std::uint64_t) {
    if (first == 0) first = done;
  });
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_GT(first, 20'000U);
  EXPECT_EQ(*ReadFile(path, 1 << 20), bytes);

  // What was kept is damaged: all of it is asked for again.
  Bytes damaged(bytes.begin(), bytes.begin() + 20'000);
  damaged[7] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(part, damaged));
  const auto again = DownloadBlob(keeper.client(), name, bytes.size(), path);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*ReadFile(path, 1 << 20), bytes);

  // All of it is there, and only its name is missing.
  ASSERT_TRUE(WriteFileAtomic(part, bytes));
  keeper.gets = 0;
  ASSERT_TRUE(DownloadBlob(keeper.client(), name, bytes.size(), path));
  EXPECT_EQ(keeper.gets, 0);
}

}  // namespace
}  // namespace assay::platform
