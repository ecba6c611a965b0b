// Sealed files and Debian's `age`: it opens ours, we open its own, and either takes the other's keys. scripts/bootstrap.sh
// installs it; without it the tests fail, since nothing else shows that these are age's files.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "support/seal_trial.h"

namespace assay::seal {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 65536, 65537, (1 << 20) + 1};

class Interop : public SealTrial {
 protected:
  void SetUp() override {
    SealTrial::SetUp();
    if (IsSkipped()) return;
    std::string name = testing::TempDir() + "seal_interop.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(Run("age --version && command -v age-keygen"), 0) << "age is not installed; scripts/bootstrap.sh build does that";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // Exit status of a command that runs in the folder.
  int Run(const std::string& command) {
    const std::string line = fmt::format("cd {} && {{ {}; }} >out 2>err", ShellQuoted(folder_), command);
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string At(std::string_view name) const { return JoinPath(folder_, name); }
  Bytes Read(std::string_view name) const { return ReadFile(At(name), 1 << 24).value_or(Bytes()); }
  std::string Text(std::string_view name) const {
    const Bytes bytes = Read(name);
    return std::string(bytes.begin(), bytes.end());
  }
  std::string folder_;
};

TEST_F(Interop, AgeOpensOurs) {
  const auto to = KnownIdentities(1, 2, 3);
  for (const int byte : {1, 2, 3})
    ASSERT_TRUE(WriteIdentityFile(At(fmt::format("id{}", byte)), Known(static_cast<std::uint8_t>(byte))));
  for (const std::size_t size : kSizes) {
    const Bytes plain = Pattern(size);
    ASSERT_TRUE(WriteFileAtomic(At("plain"), plain));
    ASSERT_TRUE(SealFile(At("plain"), RecipientsOf(to), At("x.age")));
    for (const int byte : {1, 2, 3}) {
      ASSERT_EQ(Run(fmt::format("age -d -i id{} -o back x.age", byte)), 0) << size << ": " << Text("err");
      EXPECT_EQ(Read("back"), plain) << size;
    }
  }
}

TEST_F(Interop, WeOpenAges) {
  std::vector<Identity> identities;
  std::string recipients;
  for (const int number : {1, 2, 3}) {
    ASSERT_EQ(Run(fmt::format("age-keygen -o id{}", number)), 0) << Text("err");
    auto read = ReadIdentityFile(At(fmt::format("id{}", number)));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(Run(fmt::format("age-keygen -y id{}", number)), 0);
    EXPECT_EQ(Text("out"), read->at(0).recipient().ToString() + "\n");
    recipients += " -r " + read->at(0).recipient().ToString();
    identities.push_back(std::move(read->at(0)));
  }
  for (const std::size_t size : kSizes) {
    const Bytes plain = Pattern(size);
    ASSERT_TRUE(WriteFileAtomic(At("plain"), plain));
    for (const std::string_view form : {"", " --armor"}) {
      ASSERT_EQ(Run(fmt::format("age{}{} -o x.age plain", form, recipients)), 0) << Text("err");
      for (const Identity& identity : identities) {
        const auto status = UnsealFile(At("x.age"), {&identity, 1}, At("back"));
        ASSERT_TRUE(status) << size << form << ": " << status.error().message;
        EXPECT_EQ(Read("back"), plain) << size << form;
      }
    }
  }
}

TEST_F(Interop, AgeTakesTheRecipientsThatWeMake) {
  const auto identity = Identity::Generate();
  ASSERT_TRUE(identity);
  ASSERT_EQ(Run(fmt::format("printf secret | age -r {} -o x.age", identity->recipient().ToString())), 0) << Text("err");
  EXPECT_EQ(*Opened(Read("x.age"), {&*identity, 1}), Bytes({'s', 'e', 'c', 'r', 'e', 't'}));
}

// Both refuse the same damage.
TEST_F(Interop, NeitherOpensWhatWasCutOrIsAnothers) {
  ASSERT_TRUE(WriteIdentityFile(At("id1"), Known(1)));
  ASSERT_TRUE(WriteIdentityFile(At("id2"), Known(2)));
  const Bytes sealed = Sealed(Pattern(2 * kChunkSize), KnownIdentities(1));
  ASSERT_TRUE(WriteFileAtomic(At("x.age"), sealed));
  EXPECT_NE(Run("age -d -i id2 x.age"), 0);
  EXPECT_FALSE(UnsealFile(At("x.age"), KnownIdentities(2), At("back")));
  ASSERT_TRUE(WriteFileAtomic(At("cut.age"), ByteSpan(sealed).first(sealed.size() - kChunkSize - kTagSize)));
  EXPECT_NE(Run("age -d -i id1 cut.age"), 0);
  EXPECT_FALSE(UnsealFile(At("cut.age"), KnownIdentities(1), At("back")));
}

}  // namespace
}  // namespace assay::seal
