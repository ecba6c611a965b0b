#include <gtest/gtest.h>

#include <variant>

#include "assay/base/file.h"
#include "assay/job/job.h"
#include "support/scratch.h"

namespace assay {
namespace {

constexpr std::string_view kConfig =
    R"({"model_type": "qwen2", "vocab_size": 300, "hidden_size": 32, "intermediate_size": 80, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-06})";

std::string JobText(std::string_view data, std::string_view more = "") {
  return fmt::format("[model]\nkind = \"huggingface\"\npath = \"folder\"\n[data]\n{}\n[batch]\nsequence = 32\n{}", data, more);
}

class ModelFolderTest : public testing::Test {
 protected:
  void SetUp() override { Write("folder/config.json", kConfig); }
  void Write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(MakeDirectories(scratch_ / "folder"));
    ASSERT_TRUE(WriteFileAtomic(scratch_ / name, AsBytes(text)));
  }
  Result<Job> Load(std::string_view text) {
    Write("j.toml", text);
    return LoadJob(scratch_ / "j.toml");
  }
  testkit::Scratch scratch_;
};

TEST_F(ModelFolderTest, TheFolderIsReplacedByWhatItSays) {
  auto job = Load(JobText("kind = \"bpe\""));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model_folder, scratch_ / "folder");
  const auto unread = ParseJob(ToToml(*job), "again");
  ASSERT_TRUE(unread) << unread.error().message;
  EXPECT_EQ(unread->model_folder, job->model_folder);

  ASSERT_TRUE(TakeModelFromFolder(*job));
  EXPECT_FALSE(job->model_folder);
  EXPECT_TRUE(std::get<LlamaConfig>(job->model).qkv_bias);
  EXPECT_EQ(job->init_weights, scratch_ / "folder");
  EXPECT_EQ(job->data.vocabulary, scratch_ / "folder");
  const auto again = ParseJob(ToToml(*job), "again");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(std::get<LlamaConfig>(again->model), std::get<LlamaConfig>(job->model));

  // Its encoding is that of the model, and says no more of a folder than of any weights.
  const Bytes encoded = Encode(*job, {});
  const auto decoded = DecodeJob(encoded);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(std::get<LlamaConfig>(decoded->job.model), std::get<LlamaConfig>(job->model));
  std::get<LlamaConfig>(job->model).qkv_bias = false;
  EXPECT_LT(Encode(*job, {}).size(), encoded.size());
}

TEST_F(ModelFolderTest, AVocabularyThatIsNamedStays) {
  auto job = Load(JobText("kind = \"bpe\"\nvocabulary = \"mine\""));
  ASSERT_TRUE(job && TakeModelFromFolder(*job));
  EXPECT_EQ(job->data.vocabulary, scratch_ / "mine");
  job = Load(JobText("kind = \"chars\""));
  ASSERT_TRUE(job && TakeModelFromFolder(*job));
  EXPECT_EQ(job->data.vocabulary, "");
}

TEST_F(ModelFolderTest, ErrorsNameTheKeyAndTheFile) {
  const auto refusal = [&](std::string_view text) {
    auto job = Load(text);
    const Status taken = job ? TakeModelFromFolder(*job) : tl::unexpected(job.error());
    std::string message = taken ? "accepted" : taken.error().message;
    for (std::size_t at; (at = message.find(scratch_.path() + "/")) != std::string::npos;)
      message.erase(at, scratch_.path().size() + 1);
    return message;
  };
  const std::string good = JobText("kind = \"bpe\"");
  EXPECT_EQ(refusal(good), "accepted");
  EXPECT_EQ(refusal(JobText("kind = \"features\"")),
            "j.toml:5: data.kind: a language model needs chars, bpe, tokens or packed, got 'features'");
  EXPECT_EQ(refusal(JobText("kind = \"bpe\"", "[init]\nweights = \"w\"")),
            "j.toml:9: init.weights: a huggingface model brings its weights; leave the key out");
  EXPECT_EQ(refusal("[model]\nkind = \"huggingface\"\n[data]\nkind = \"bpe\"\n"),
            "j.toml:1: model.path: expected a folder with config.json and model.safetensors");
  Write("folder/config.json", R"({"model_type": "bert"})");
  EXPECT_EQ(refusal(good),
            "model.path: folder/config.json: model_type: expected gpt2 or llama or mistral or qwen2, got 'bert'");
  ASSERT_TRUE(RemoveFile(scratch_ / "folder/config.json"));
  EXPECT_EQ(refusal(good), "model.path: folder/config.json: cannot open: No such file or directory");
  Write("folder/config.json", kConfig);
  std::string longer = good;
  longer.replace(longer.find("= 32"), 4, "= 129");
  EXPECT_EQ(refusal(longer), "batch.sequence: expected an integer in 1 .. 128, because model.context is 128, got 129");
  std::string elsewhere = good;
  elsewhere.replace(elsewhere.find("\"folder\""), 8, "\"nowhere\"");
  EXPECT_EQ(refusal(elsewhere), "model.path: nowhere: No such file or directory");
  elsewhere = good;
  elsewhere.replace(elsewhere.find("\"folder\""), 8, "\"j.toml\"");
  EXPECT_EQ(refusal(elsewhere), "model.path: j.toml: is a file, expected a folder");
}

TEST_F(ModelFolderTest, NoEncodingNamesAFolder) {
  const auto job = Load(JobText("kind = \"bpe\""));
  ASSERT_TRUE(job);
  Bytes bytes = Encode(*job, {});
  const std::string_view name = "gpt2", other = "huggingface";
  const auto at = std::search(bytes.begin(), bytes.end(), name.begin(), name.end());
  ASSERT_NE(at, bytes.end()) << "before it is read, the folder stands for nothing";
  *(at - 4) = static_cast<std::uint8_t>(other.size());
  const auto after = bytes.erase(at, at + name.size());
  bytes.insert(after, other.begin(), other.end());
  EXPECT_EQ(DecodeJob(bytes).error().message, "job encoding: expected model.kind");
}

}  // namespace
}  // namespace assay
