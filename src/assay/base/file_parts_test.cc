#include "assay/base/file_parts.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay {
namespace {

TEST(FileParts, FactsOfFilesFoldersAndLinks) {
  const testkit::Scratch scratch;
  const std::string file = scratch / "file", link = scratch / "link";
  ASSERT_TRUE(WriteFileAtomic(file, Bytes(10, 1)));
  std::filesystem::create_symlink(file, link);
  const auto facts = FactsOf(file, false);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->kind, FileFacts::Kind::kPlain);
  EXPECT_EQ(facts->bytes, 10u);
  EXPECT_GT(facts->changed_ns, 0);
  EXPECT_EQ(FactsOf(link, true).value(), *facts);
  EXPECT_EQ(FactsOf(link, false)->kind, FileFacts::Kind::kLink);
  EXPECT_EQ(FactsOf(scratch / ".", false)->kind, FileFacts::Kind::kDirectory);
  EXPECT_EQ(FactsOf("/dev/null", false)->kind, FileFacts::Kind::kOther);
  EXPECT_NE(FactsOf(scratch / "none", false).error().message.find("No such file"), std::string::npos);
}

TEST(FileParts, OverwritesTheMiddle) {
  const testkit::Scratch scratch;
  const std::string file = scratch / "file";
  ASSERT_TRUE(WriteFileAtomic(file, Bytes{1, 2, 3, 4}));
  ASSERT_TRUE(OverwriteDurably(file, 1, Bytes{7, 8}));
  EXPECT_EQ(ReadFile(file, 10).value(), (Bytes{1, 7, 8, 4}));
  EXPECT_FALSE(OverwriteDurably(scratch / "none", 0, Bytes{1}));
}

TEST(FileParts, RenamesToANewNameOnly) {
  const testkit::Scratch scratch;
  const std::string from = scratch / "from", to = scratch / "to";
  ASSERT_TRUE(WriteFileAtomic(from, Bytes{1}));
  ASSERT_TRUE(RenameAsNew(from, to));
  ASSERT_TRUE(WriteFileAtomic(from, Bytes{2}));
  EXPECT_EQ(RenameAsNew(from, to).error().message, to + ": exists already and is not overwritten");
  EXPECT_EQ(ReadFile(to, 10).value(), Bytes{1});
}

}  // namespace
}  // namespace assay
