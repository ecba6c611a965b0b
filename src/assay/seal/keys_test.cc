#include "assay/seal/keys.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "assay/base/file.h"
#include "support/seal_trial.h"

namespace assay::seal {
namespace {

// Computed by tests/vectors/sealed.py; the first pair is the example of the format's own page.
constexpr std::string_view kIdentity = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
constexpr std::string_view kRecipient = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
constexpr std::string_view kOther = "AGE-SECRET-KEY-1GDP5XS6RGDP5XS6RGDP5XS6RGDP5XS6RGDP5XS6RGDP5XS6RGDPSST380Y";

std::string Changed(std::string_view text, char (*change)(char)) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), change);
  return out;
}
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

class Identities : public SealTrial {
 protected:
  void SetUp() override {
    SealTrial::SetUp();
    std::string name = testing::TempDir() + "seal_keys.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(std::string_view text, unsigned mode = 0600) {
    const std::string path = JoinPath(folder_, "identity");
    EXPECT_TRUE(WriteFileAtomic(path, AsBytes(text), {.mode = mode}));
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  std::string folder_;
};

TEST(Recipients, Texts) {
  const auto recipient = Recipient::Parse(kRecipient);
  ASSERT_TRUE(recipient) << recipient.error().message;
  EXPECT_EQ(recipient->ToString(), kRecipient);
}

TEST(Recipients, ErrorsSayWhatIsWrong) {
  const auto error = [](std::string_view text) { return ErrorOf(Recipient::Parse(text)); };
  EXPECT_EQ(error(""), "expected a recipient age1..., got '': it has no prefix that '1' ends");
  EXPECT_EQ(error("age1qdd35qf"),
            "expected a recipient age1..., got 'age1qdd35qf': its last character holds bits that belong to no byte");
  EXPECT_EQ(error("age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqar9jk6"),
            "expected a recipient age1..., got 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqar9jk6': it holds 31 "
            "bytes, expected 32");
  EXPECT_EQ(error("age1yubikey1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqvraeck"),
            "expected a recipient age1..., got 'age1yubikey1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqvraeck': its "
            "prefix is 'age1yubikey', expected age");
  // One text for each key.
  EXPECT_NE(error(Changed(kRecipient, Upper)).find("its prefix is 'AGE', expected age"), std::string::npos);
  EXPECT_FALSE(Recipient::Parse(std::string(kRecipient) + "\n"));
  EXPECT_FALSE(Recipient::Parse(" " + std::string(kRecipient)));
}

// Whoever names the identity instead should not find it in a log.
TEST(Recipients, DoNotRepeatAnIdentity) {
  const std::string lower = Changed(kIdentity, Lower), damaged = std::string(kIdentity.substr(0, 40));
  for (const std::string_view text : {kIdentity, std::string_view(lower), std::string_view(damaged)}) {
    EXPECT_EQ(ErrorOf(Recipient::Parse(text)), "expected a recipient age1..., got an identity, which is to be kept secret");
  }
}

TEST_F(Identities, Texts) {
  const auto identity = Identity::Parse(kIdentity);
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->ToString(), kIdentity);
  EXPECT_EQ(identity->recipient().ToString(), kRecipient);
  EXPECT_EQ(Known(0x43).ToString(), kOther);
}

TEST_F(Identities, GeneratedOnesDiffer) {
  const auto one = Identity::Generate(), other = Identity::Generate();
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->recipient(), other->recipient());
  EXPECT_EQ(Identity::Parse(one->ToString())->recipient(), one->recipient());
}

TEST_F(Identities, ErrorsSayWhatIsWrongAndNothingElse) {
  const auto error = [](std::string_view text) { return ErrorOf(Identity::Parse(text)); };
  EXPECT_EQ(error(Changed(kIdentity, Lower)),
            "expected an identity AGE-SECRET-KEY-1...: its prefix is 'age-secret-key-', expected AGE-SECRET-KEY-");
  EXPECT_EQ(error(kRecipient), "expected an identity AGE-SECRET-KEY-1...: its prefix is 'age', expected AGE-SECRET-KEY-");
  EXPECT_EQ(error("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ6J6TAE"),
            "expected an identity AGE-SECRET-KEY-1...: it holds 31 bytes, expected 32");
  for (std::size_t i = 0; i < kIdentity.size(); ++i) {
    std::string other(kIdentity);
    other[i] = other[i] == 'Q' ? 'P' : 'Q';
    EXPECT_EQ(error(other).find("GFPYYS"), std::string::npos) << error(other);
    EXPECT_FALSE(Identity::Parse(other));
  }
}

TEST_F(Identities, AreWrittenForTheirOwnerAlone) {
  const std::string path = JoinPath(folder_, "mine");
  ASSERT_TRUE(WriteIdentityFile(path, Known(0x42)));
  struct stat about{};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777u, 0600u);
  const Bytes bytes = *ReadFile(path, 1000);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), fmt::format("# public key: {}\n{}\n", kRecipient, kIdentity));
  const auto back = ReadIdentityFile(path);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(RecipientsOf(*back), RecipientsOf(KnownIdentities(0x42)));
  EXPECT_EQ(ErrorOf(WriteIdentityFile(path, Known(0x43))), path + ": exists already and is not overwritten");
  EXPECT_EQ(*ReadFile(path, 1000), bytes);
}

TEST_F(Identities, FilesHoldOneALine) {
  const auto two = ReadIdentityFile(Write(fmt::format("# two\n\n{}\n# and\n{}", kIdentity, kOther)));
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(RecipientsOf(*two), RecipientsOf(KnownIdentities(0x42, 0x43)));
}

TEST_F(Identities, FilesThatAreRefused) {
  const auto error = [](const std::string& path) { return ErrorOf(ReadIdentityFile(path)); };
  std::string path = Write("# nothing\n");
  EXPECT_EQ(error(path), path + ": holds no identity (a line AGE-SECRET-KEY-1...)");
  path = Write(fmt::format("{}\n{}x\n", kIdentity, kOther));
  EXPECT_EQ(error(path), path + ": line 2: expected an identity AGE-SECRET-KEY-1...: it mixes lower and upper case");
  path = Write(kIdentity, 0644);
  EXPECT_NE(error(path).find(path + ": "), std::string::npos);
  EXPECT_EQ(error(path).find("GFPYYS"), std::string::npos);
}

TEST(Identity, NeedsABuildThatCanSeal) {
  EXPECT_EQ(CheckCanSeal().has_value(), CanSeal());
  if (CanSeal()) return;
  const std::string why = "this build cannot seal: it was made without libsodium";
  EXPECT_EQ(ErrorOf(Identity::Generate()), why);
  EXPECT_EQ(ErrorOf(Identity::Parse(kIdentity)), why);
  EXPECT_EQ(ErrorOf(ReadIdentityFile("absent")), why);
  const std::vector<Recipient> recipients = {*Recipient::Parse(kRecipient)};
  EXPECT_EQ(ErrorOf(SealWriter::Start(recipients, [](ByteSpan) { return Status(); })), why);
  EXPECT_EQ(ErrorOf(SealReader::Open(SpanSource({}), {}, "x")), why);
}

}  // namespace
}  // namespace assay::seal
