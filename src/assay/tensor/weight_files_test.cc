#include "assay/tensor/weight_files.h"

#include <gtest/gtest.h>

#include "support/scratch.h"

namespace assay {
namespace {

class WeightFilesTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::vector<std::string>& tensors) {
    const Tensor tensor(DType::kF32, {2});
    std::vector<TensorRef> refs;
    for (const std::string& each : tensors) refs.push_back({each, &tensor});
    ASSERT_TRUE(WriteSafetensors(scratch_ / name, refs));
  }
  void WriteIndex(const std::string& map) {
    ASSERT_TRUE(
        WriteFileAtomic(scratch_ / kWeightsIndex, AsBytes(R"({"metadata": {"total_size": 24}, "weight_map": )" + map + "}")));
  }
  std::string Refusal() {
    const auto weights = WeightFiles::Open(scratch_.path());
    if (weights) return "accepted";
    std::string message = weights.error().message;
    const std::string prefix = scratch_.path() + "/";
    for (std::size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
      message.erase(at, prefix.size());
    return message;
  }
  testkit::Scratch scratch_;
};

TEST_F(WeightFilesTest, AFileOrAFolderWithOne) {
  Write("model.safetensors", {"a", "b"});
  for (const std::string& path : {scratch_.path(), scratch_ / "model.safetensors"}) {
    const auto weights = WeightFiles::Open(path);
    ASSERT_TRUE(weights) << weights.error().message;
    ASSERT_EQ(weights->files().size(), 1u);
    EXPECT_EQ(weights->files()[0].tensors().size(), 2u);
  }
  Allowance everything;
  EXPECT_EQ(WeightFileNames(scratch_.path(), everything).value(), std::vector<std::string>{"model.safetensors"});
}

TEST_F(WeightFilesTest, SeveralFilesByTheirIndex) {
  Write("model-00001-of-00002.safetensors", {"a", "c"});
  Write("model-00002-of-00002.safetensors", {"b"});
  WriteIndex(
      R"({"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"})");
  const auto weights = WeightFiles::Open(scratch_.path());
  ASSERT_TRUE(weights) << weights.error().message;
  ASSERT_EQ(weights->files().size(), 2u);
  EXPECT_NE(weights->files()[1].Find("b"), nullptr);
  Allowance everything;
  EXPECT_EQ(WeightFileNames(scratch_.path(), everything).value(),
            (std::vector<std::string>{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}));
}

TEST_F(WeightFilesTest, RefusesAnIndexThatIsNotThatOfItsFiles) {
  EXPECT_EQ(WeightFiles::Open(scratch_.path()).error().message,
            scratch_.path() + ": expected model.safetensors or model.safetensors.index.json in this folder");
  Write("x.safetensors", {"a"});
  Write("y.safetensors", {"b"});
  WriteIndex(R"({"a": "x.safetensors", "b": "y.safetensors"})");
  EXPECT_EQ(Refusal(), "accepted");
  WriteIndex(R"({"a": "x.safetensors"})");
  EXPECT_EQ(Refusal(), "accepted") << "a file that the index does not name is not looked at";
  WriteIndex(R"({"a": "y.safetensors", "b": "y.safetensors"})");
  EXPECT_EQ(Refusal(), "y.safetensors: tensor 'a' is missing, model.safetensors.index.json says");
  WriteIndex(R"({"b": "x.safetensors", "a": "y.safetensors"})");
  EXPECT_EQ(Refusal(), "model.safetensors.index.json: tensor 'a': expected x.safetensors, which has it, got y.safetensors");
  WriteIndex(R"({"c": "x.safetensors"})");
  EXPECT_EQ(Refusal(), "model.safetensors.index.json: says nothing of tensor 'a', which x.safetensors has");
  WriteIndex(R"({"a": "z.safetensors"})");
  EXPECT_EQ(Refusal(), "z.safetensors: cannot open: No such file or directory");
}

TEST(WeightsIndex, NamesLeadNowhereElse) {
  for (const char* name : {"../x.safetensors", "/x.safetensors", "a/x.safetensors", ".safetensors", "x.bin", "",
                           "a\\\\x.safetensors", "a\\u0000.safetensors"}) {
    const auto places = ParseWeightsIndex(fmt::format(R"({{"weight_map": {{"a": "{}"}}}})", name), "i");
    ASSERT_FALSE(places) << name;
    EXPECT_TRUE(places.error().message.starts_with(
        "i: weight_map: 'a': expected the name of a .safetensors file in the same folder, got "))
        << places.error().message;
  }
  EXPECT_EQ(ParseWeightsIndex(R"({"weight_map": {"a": 1}})", "i").error().message,
            "i: weight_map: 'a': expected the name of a .safetensors file in the same folder, got 1");
  for (const char* text : {"{}", R"({"weight_map": []})", R"({"weight_map": {}})"})
    EXPECT_EQ(ParseWeightsIndex(text, "i").error().message, "i: weight_map: expected an object of tensors and their files");
  EXPECT_EQ(ParseWeightsIndex("[", "i").error().message, "i: expected a JSON object");
}

}  // namespace
}  // namespace assay
