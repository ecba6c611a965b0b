#include "assay/client/order_files.h"

#include <gtest/gtest.h>

#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay::client {
namespace {

Status Write(const std::string& path) { return WriteFileAtomic(path, AsBytes("x")); }

TEST(OrderFiles, TakesWhatAJobNames) {
  const testkit::Scratch scratch;
  ASSERT_TRUE(MakeDirectories(scratch / "arrays"));
  for (const char* name : {"arrays/in.npy", "arrays/out.npy", "arrays/private.txt", "my weights.safetensors", "job.toml"})
    ASSERT_TRUE(Write(scratch / name));
  auto parsed =
      ParseJob("[model]\nkind = \"mlp\"\n[data]\nkind = \"arrays\"\ninputs = \"in\"\nlabels = \"out\"\n", "test.toml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  Job& job = *parsed;
  job.data.path = scratch / "arrays";
  job.init_weights = scratch / "my weights.safetensors";
  const auto files = FilesOf(job);
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->files.size(), 3U) << "what the job does not read stays here";
  EXPECT_EQ(files->files[0].name, "data/in.npy");
  EXPECT_EQ(files->files[1].name, "data/out.npy");
  EXPECT_EQ(files->files[2].name, "weights/my_weights.safetensors");
  EXPECT_EQ(files->files[2].path, scratch / "my weights.safetensors");
  const auto sent = ParseJob(files->job_toml, "job.toml");
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->data.path, "data");
  EXPECT_EQ(sent->init_weights, "weights/my_weights.safetensors");
}

TEST(OrderFiles, OfAModelInAFolderTheModelAndItsWeights) {
  const testkit::Scratch scratch;
  const auto write = [&](const std::string& name, std::string_view text) {
    ASSERT_TRUE(WriteFileAtomic(scratch / name, AsBytes(text)));
  };
  write("text.txt", "text");
  write("config.json",
        R"({"model_type": "gpt2", "vocab_size": 300, "n_positions": 64, "n_embd": 48, "n_layer": 2, "n_head": 4})");
  write("tokenizer.json", "{}");
  write("a.safetensors", "");
  write("b.safetensors", "");
  write("model.safetensors.index.json", R"({"weight_map": {"x": "b.safetensors", "y": "a.safetensors"}})");
  auto job = ParseJob("[model]\nkind = \"huggingface\"\npath = \"x\"\n[data]\nkind = \"bpe\"\n", "job.toml");
  ASSERT_TRUE(job) << job.error().message;
  job->model_folder = scratch.path();
  job->data.path = scratch / "text.txt";
  ASSERT_TRUE(TakeModelFromFolder(*job));
  const auto files = FilesOf(*job);
  ASSERT_TRUE(files) << files.error().message;
  std::vector<std::string> names;
  for (const auto& file : files->files) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"data/text.txt", "vocabulary/tokenizer.json", "weights/a.safetensors",
                                             "weights/b.safetensors", "weights/model.safetensors.index.json"}));
  const auto sent = ParseJob(files->job_toml, "job.toml");
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_FALSE(sent->model_folder);
  EXPECT_EQ(std::get<Gpt2Config>(sent->model).width, 48);
  EXPECT_EQ(sent->init_weights, "weights");
}

TEST(OrderFiles, NamesWhatIsMissing) {
  Job job;
  job.data.path = "/nowhere/text.txt";
  const auto files = FilesOf(job);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find("/nowhere/text.txt"), std::string::npos);
}

}  // namespace
}  // namespace assay::client
