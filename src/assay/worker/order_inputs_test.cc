#include "assay/worker/order_inputs.h"

#include <gtest/gtest.h>

#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay::worker {
namespace {

class OrderJobTest : public testing::Test {
 protected:
  // Of an order that has a job file and one of starting weights in a folder.
  std::string Refusal(std::string_view model, std::string_view more) {
    const std::string text = fmt::format("[model]\n{}\n[data]\nkind = \"chars\"\n[batch]\nsequence = 8\n{}", model, more);
    EXPECT_TRUE(WriteFileAtomic(scratch_ / "job.toml", AsBytes(text)));
    life::Order order;
    order.files = {{.name = "job.toml", .sha256 = {}, .bytes = 1},
                   {.name = "weights/model.safetensors", .sha256 = {}, .bytes = 1}};
    const auto job = LoadOrderJob(order, scratch_.path());
    return job ? "accepted" : job.error().message;
  }
  testkit::Scratch scratch_;
};

// Nothing of the worker's own is opened because an order names it.
TEST_F(OrderJobTest, NamesOnlyFilesOfTheOrder) {
  EXPECT_EQ(Refusal("kind = \"gpt2\"", "[init]\nweights = \"weights\""), "accepted");
  EXPECT_EQ(Refusal("kind = \"gpt2\"", "[init]\nweights = \"weights/model.safetensors\""), "accepted");
  const std::string elsewhere = Refusal("kind = \"gpt2\"", "[init]\nweights = \"/etc\"");
  EXPECT_TRUE(elsewhere.starts_with("job.toml: init.weights: names '") &&
              elsewhere.ends_with("which is not a file of the order"))
      << elsewhere;
  EXPECT_EQ(Refusal("kind = \"huggingface\"\npath = \"/etc\"", ""),
            "job.toml: model.kind: expected the model itself in an order, got 'huggingface'");
}

}  // namespace
}  // namespace assay::worker
