#include "assay/client/state.h"

#include <gtest/gtest.h>

#include "assay/base/file.h"
#include "support/life_parties.h"
#include "support/scratch.h"

namespace assay::client {
namespace {

using testkit::DigestOf;
using testkit::KeyOf;

const std::string kId(32, 'a');

TEST(State, RemembersKeysAndOrders) {
  const testkit::Scratch scratch;
  const auto state = State::Open(scratch / "state");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_FALSE(*state->PinOf("http://one:1"));
  ASSERT_TRUE(state->Pin("http://one:1", KeyOf("one").verify_key()));
  EXPECT_EQ(**state->PinOf("http://one:1"), KeyOf("one").verify_key());
  EXPECT_FALSE(*state->PinOf("http://one:2"));

  EXPECT_FALSE(*state->Recall(kId));
  EXPECT_FALSE(state->Recall("../../etc"));
  const MadeOrder made{.server = "http://one:1",
                       .envelope = "text\n",
                       .job = "/a/job.toml",
                       .data = "",
                       .name = "job",
                       .sealed = true,
                       .files = {{.name = "job.toml", .path = "/a"}}};
  ASSERT_TRUE(state->Remember(kId, made));
  const auto recalled = State::Open(scratch / "state")->Recall(kId);
  ASSERT_TRUE(recalled && *recalled);
  EXPECT_EQ((*recalled)->envelope, "text\n");
  EXPECT_EQ((*recalled)->files.at(0).path, "/a");
  EXPECT_EQ((*recalled)->name, "job");
  EXPECT_TRUE((*recalled)->sealed);
  EXPECT_FALSE(state->WasCancelled(kId));
  ASSERT_TRUE(state->RememberCancelled(kId));
  EXPECT_TRUE(state->WasCancelled(kId));
  EXPECT_FALSE(state->WasCancelled("../" + kId));
}

TEST(State, KeepsTheLongestCheckpoint) {
  const testkit::Scratch scratch;
  const auto state = State::Open(scratch.path());
  const SigningKey key = KeyOf("coordinator");
  const auto note = [&](std::uint64_t size) {
    return SignCheckpoint({.origin = "x", .size = size, .root = DigestOf("r")}, key);
  };
  ASSERT_TRUE(state->KeepCheckpoint(kId, note(5), 5, key.verify_key()));
  ASSERT_TRUE(state->KeepCheckpoint(kId, note(3), 3, key.verify_key()));
  EXPECT_EQ(**state->CheckpointOf(kId), note(5));
  ASSERT_TRUE(state->KeepCheckpoint(kId, note(8), 8, key.verify_key()));
  EXPECT_EQ(**state->CheckpointOf(kId), note(8));
}

TEST(State, MakesOneIdentity) {
  const testkit::Scratch scratch;
  const auto state = State::Open(scratch.path());
  const auto first = state->OpenIdentities();
  if (!first) GTEST_SKIP() << first.error().message;
  EXPECT_EQ(first->front().recipient(), state->OpenIdentities()->front().recipient());
  EXPECT_TRUE(ReadPrivateFile(scratch / "identity", 1 << 10)) << "nobody else may read it";
}

}  // namespace
}  // namespace assay::client
