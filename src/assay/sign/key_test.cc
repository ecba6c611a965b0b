#include "assay/sign/key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <set>

#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay {
namespace {

// Computed from docs/formats/log.md by tests/vectors/log.py.
constexpr const char* kPrivate = "PRIVATE+KEY+example.org/Trainer_1.a-b+5236f2f0+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
constexpr const char* kPublic = "example.org/Trainer_1.a-b+5236f2f0+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";

TEST(Key, Vectors) {
  const auto key = SigningKey::Parse(kPrivate);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->ToString(), kPrivate);
  EXPECT_EQ(key->verify_key().ToString(), kPublic);
  EXPECT_EQ(key->verify_key().hash(), 0x5236f2f0u);
  EXPECT_EQ(key->verify_key().id(), "example.org/Trainer_1.a-b+5236f2f0");
  const auto verify = VerifyKey::Parse(kPublic);
  ASSERT_TRUE(verify) << verify.error().message;
  EXPECT_EQ(*verify, key->verify_key());
  EXPECT_TRUE(verify->Verify(AsBytes("m"), key->Sign(AsBytes("m"))));
  EXPECT_FALSE(verify->Verify(AsBytes("n"), key->Sign(AsBytes("m"))));
}

// The public key of the C2SP signed-note page's example.
TEST(Key, PublishedVerifierKey) {
  const char* vkey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
  const auto key = VerifyKey::Parse(vkey);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->name(), "example.com/foo");
  EXPECT_EQ(key->hash(), 0x530d903au);
  EXPECT_EQ(key->ToString(), vkey);
}

TEST(Key, Names) {
  for (const char* name : {"a", "A-Z/a.z_09", "-", "/"}) EXPECT_TRUE(IsKeyName(name)) << name;
  EXPECT_TRUE(IsKeyName(std::string(64, 'x')));
  EXPECT_FALSE(IsKeyName(std::string(65, 'x')));
  for (const char* name : {"", "a b", "a+b", "a\n", "\xc3\xa9", "a\t", "a\\", "a:"}) EXPECT_FALSE(IsKeyName(name)) << name;
}

// Every character of a public key replaced, dropped or doubled: nothing else may be read as this key, nor as itself spelt
// otherwise.
TEST(Key, NoOtherTextIsAKey) {
  const std::string text = kPublic;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'A', 'a', '0', '+', '=', ' ', '\n', '/', '-', '\0'}) {
      std::string other = text;
      other[i] = c;
      EXPECT_EQ(VerifyKey::Parse(other).has_value(), other == text) << other;
    }
    EXPECT_FALSE(VerifyKey::Parse(std::string(text).erase(i, 1))) << i;
    EXPECT_FALSE(VerifyKey::Parse(std::string(text).insert(i, 1, text[i]))) << i;
  }
  for (const std::string& other :
       {std::string(), std::string("+"), std::string("++"), std::string("a+12345678+"), text + "\n", " " + text, text + "=",
        text + "AAAA", std::string("example.org/Trainer_1.a-b+5236F2F0+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4")}) {
    EXPECT_FALSE(VerifyKey::Parse(other)) << other;
  }
}

TEST(Key, NoOtherTextIsAPrivateKey) {
  const std::string text = kPrivate;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'B' ? 'C' : 'B';
    const auto key = SigningKey::Parse(other);
    ASSERT_FALSE(key) << other;
    EXPECT_EQ(key.error().message.find("AQABAgMEBQYHCAkKCwwNDg8QERIT"), std::string::npos)
        << "the seed in: " << key.error().message;
    EXPECT_FALSE(SigningKey::Parse(std::string(text).erase(i, 1))) << i;
  }
  EXPECT_FALSE(SigningKey::Parse(text + "\n"));
  EXPECT_FALSE(SigningKey::Parse("PRIVATE+KEY+a+12345678+"));
  EXPECT_FALSE(SigningKey::Parse(kPublic));
}

// A key under which no signature can be good is refused when it is read: points of small order, and no points at all.
TEST(Key, UselessPointsAreRefused) {
  std::array<std::uint8_t, 32> point{};
  EXPECT_FALSE(VerifyKey::Parse(VerifyKey("a", point).ToString()));
  point[0] = 1;
  EXPECT_FALSE(VerifyKey::Parse(VerifyKey("a", point).ToString()));
  point[0] = 2;
  EXPECT_FALSE(VerifyKey::Parse(VerifyKey("a", point).ToString()));
  const auto key = SigningKey::Generate("a");
  EXPECT_TRUE(VerifyKey::Parse(key.verify_key().ToString()));
}

TEST(Key, GeneratedKeysDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) seen.insert(SigningKey::Generate("k").ToString());
  EXPECT_EQ(seen.size(), 20u);
}

bool HoldsSeed(const void* object, std::size_t size) {
  ed25519::Seed seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::uint8_t>(i);
  const std::string_view memory(static_cast<const char*>(object), size);
  return memory.find(std::string_view(reinterpret_cast<const char*>(seed.data()), seed.size())) != std::string_view::npos;
}

TEST(Key, SeedsAreWiped) {
  alignas(SigningKey) std::array<std::byte, sizeof(SigningKey)> memory{};
  auto* key = new (memory.data()) SigningKey(*SigningKey::Parse(kPrivate));
  EXPECT_TRUE(HoldsSeed(memory.data(), memory.size()));
  SigningKey moved = std::move(*key);
  EXPECT_EQ(moved.ToString(), kPrivate);
  EXPECT_FALSE(HoldsSeed(memory.data(), memory.size()));
  *key = std::move(moved);
  EXPECT_EQ(key->ToString(), kPrivate);
  EXPECT_FALSE(HoldsSeed(&moved, sizeof(moved)));
  key->~SigningKey();
  EXPECT_FALSE(HoldsSeed(memory.data(), memory.size()));
}

class KeyFileTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = scratch_.path();
    path_ = JoinPath(directory_, "key");
  }
  static unsigned Mode(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777u : ~0u;
  }
  testkit::Scratch scratch_;
  std::string directory_, path_;
};

TEST_F(KeyFileTest, WritesBothAndReadsThemBack) {
  const mode_t mask = ::umask(0);
  const SigningKey key = *SigningKey::Parse(kPrivate);
  const Status written = WriteKeyFiles(path_, key);
  ::umask(mask);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(Mode(path_), 0600u);
  EXPECT_EQ(*ListDirectory(directory_), (std::vector<std::string>{"key", "key.pub"}));
  EXPECT_EQ(ReadSigningKey(path_)->ToString(), kPrivate);
  EXPECT_EQ(*ReadVerifyKey(path_ + ".pub"), key.verify_key());
  const Bytes text = *ReadFile(path_ + ".pub", 1000);
  EXPECT_EQ(std::string(text.begin(), text.end()), std::string(kPublic) + "\n");
}

TEST_F(KeyFileTest, NeverOverwrites) {
  const SigningKey key = SigningKey::Generate("k"), other = SigningKey::Generate("k");
  ASSERT_TRUE(WriteKeyFiles(path_, key));
  EXPECT_EQ(WriteKeyFiles(path_, other).error().message, path_ + ": exists already and is not overwritten");
  ASSERT_TRUE(RemoveFile(path_ + ".pub"));
  EXPECT_EQ(WriteKeyFiles(path_, other).error().message, path_ + ": exists already and is not overwritten");
  EXPECT_EQ(*ListDirectory(directory_), std::vector<std::string>{"key"});
  EXPECT_EQ(ReadSigningKey(path_)->ToString(), key.ToString());
  ASSERT_TRUE(RemoveFile(path_));
  ASSERT_EQ(::symlink("nowhere", path_.c_str()), 0);  // a name that leads nowhere is a name all the same
  EXPECT_FALSE(WriteKeyFiles(path_, key));
  EXPECT_EQ(*ListDirectory(directory_), std::vector<std::string>{"key"});
}

TEST_F(KeyFileTest, FilesThatOthersMayReadAreRefused) {
  ASSERT_TRUE(WriteKeyFiles(path_, SigningKey::Generate("k")));
  for (const unsigned mode : {0604u, 0640u, 0602u, 0610u, 0644u, 0666u}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    const auto key = ReadSigningKey(path_);
    ASSERT_FALSE(key) << mode;
    EXPECT_EQ(key.error().message,
              fmt::format("{}: others may read it (mode {:04o}), expected mode 0600; run chmod 600 on it", path_, mode));
  }
  for (const unsigned mode : {0600u, 0400u}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    EXPECT_TRUE(ReadSigningKey(path_)) << mode;
  }
}

TEST_F(KeyFileTest, ErrorsNameTheFile) {
  EXPECT_EQ(ReadSigningKey(path_).error().message, path_ + ": cannot open: No such file or directory");
  EXPECT_EQ(ReadVerifyKey(path_).error().message, path_ + ": cannot open: No such file or directory");
  ASSERT_TRUE(WriteFileAtomic(path_, AsBytes("PRIVATE+KEY+short"), {.mode = 0600}));
  EXPECT_EQ(ReadSigningKey(path_).error().message,
            path_ + ": expected a private key PRIVATE+KEY+NAME+HASH+DATA: expected two '+'");
  EXPECT_EQ(ReadVerifyKey(path_).error().message, path_ + ": is a private key, expected a public one (PATH.pub)");
  const std::string open = SigningKey::Generate("test").verify_key().ToString();
  for (const unsigned mode : {0600u, 0644u}) {
    ASSERT_TRUE(WriteFileAtomic(path_, AsBytes(open), {.mode = mode}));
    EXPECT_EQ(ReadSigningKey(path_).error().message,
              path_ + ": is a public key, expected the private one that belongs to it (its file's name is without .pub)");
  }
  ASSERT_TRUE(WriteFileAtomic(path_, Bytes(5000, 'a'), {.mode = 0600}));
  EXPECT_FALSE(ReadSigningKey(path_));
  EXPECT_FALSE(ReadVerifyKey(path_));
}

}  // namespace
}  // namespace assay
