// What data takes of memory is asked for before it is taken, whatever the kind.
#include "assay/data/open.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "assay/data/pack.h"
#include "support/array_bytes.h"
#include "support/scratch.h"

namespace assay {
namespace {

using testkit::Npy;
using testkit::Zip;

constexpr std::int64_t kMegabyte = 1 << 20;

class DataRoom : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = scratch_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string Archive(const std::string& type, std::size_t size, bool deflated) const {
    const Bytes inputs = Npy(type, fmt::format("({}, 1024)", kMegabyte / 1024), Bytes(size * kMegabyte, 0));
    const Bytes labels = Npy("<i8", fmt::format("({},)", kMegabyte / 1024), Bytes(8 * kMegabyte / 1024, 0));
    const Bytes file = Zip(
        {{.name = "x.npy", .bytes = inputs, .deflated = deflated}, {.name = "y.npy", .bytes = labels, .deflated = deflated}});
    return Write(fmt::format("d{}{}.npz", size, deflated), {file.begin(), file.end()});
  }
  std::string Bpe() const {
    return (std::filesystem::path(__FILE__).parent_path() / "../../../tests/vectors/bpe").lexically_normal().string();
  }

  // One of every kind, each of about a megabyte or more.
  std::vector<DataConfig> Kinds() const {
    std::string text;
    while (static_cast<std::int64_t>(text.size()) < kMegabyte) text += "ab ba ";
    std::vector<DataConfig> kinds = {{.kind = DataKind::kChars, .path = Write("a.txt", text)},
                                     {.kind = DataKind::kBpe, .path = Write("a.txt", text), .vocabulary = Bpe()},
                                     {.kind = DataKind::kTokens, .path = Write("a.bin", text)},
                                     {.kind = DataKind::kCifar10, .path = Write("c.bin", std::string(3073 * 400, 0))},
                                     {.kind = DataKind::kFeatures}};
    kinds.back().features = 1 << 18;
    ThreadPool pool(1);
    const std::string packed = kinds[0].path + ".pack";
    EXPECT_TRUE(Pack({.inputs = {kinds[0].path}, .out = packed}, pool, {}));
    kinds.push_back({.kind = DataKind::kPacked, .path = packed});
    for (const auto& [type, size] : {std::pair("|u1", 1), std::pair("<f2", 2), std::pair("<f8", 8)}) {
      for (const bool deflated : {false, true}) {
        DataConfig& made = kinds.emplace_back(DataConfig{.kind = DataKind::kArrays});
        made.path = Archive(type, static_cast<std::size_t>(size), deflated);
      }
    }
    return kinds;
  }

 private:
  testkit::Scratch scratch_;
};

TEST_F(DataRoom, IsAskedForBeforeAnythingIsTaken) {
  for (const DataConfig& config : Kinds()) {
    Allowance narrow(kMegabyte, 0, {});
    const auto refused = OpenData(config, 8, nullptr, narrow);
    ASSERT_FALSE(refused) << config.path;
    EXPECT_TRUE(refused.error().message.starts_with("memory: the work takes ")) << refused.error().message;
    EXPECT_TRUE(refused.error().message.ends_with(", and may take 1.00 MiB")) << refused.error().message;
    EXPECT_TRUE(refused.error().system) << "the job is not at fault";
    EXPECT_LE(narrow.taken(), kMegabyte);
  }
}

TEST_F(DataRoom, SufficesWhereItIsLarge) {
  for (const DataConfig& config : Kinds()) {
    Allowance wide(128 * kMegabyte, 0, {});
    const auto opened = OpenData(config, 8, nullptr, wide);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_GE(wide.taken(), kMegabyte) << config.path;
  }
}

TEST_F(DataRoom, OpeningEndsWhenItShould) {
  for (const DataConfig& config : Kinds()) {
    int asked = 0;
    Allowance stopped(0, 0, [&] { return ++asked > 1; });
    const auto opened = OpenData(config, 8, nullptr, stopped);
    ASSERT_FALSE(opened) << config.path;
    EXPECT_EQ(opened.error().message, "stopped");
  }
}

}  // namespace
}  // namespace assay
