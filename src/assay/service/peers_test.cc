#include "assay/service/peers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "assay/dispute/answer.h"
#include "support/finished_run.h"

namespace assay::service {
namespace {

using dispute::PeerError;

// The start is read from a file that has gone bad since the dispute began: the run is as good as before.
TEST(LocalPeerTest, WhatThisMachineCannotReadIsNotRefused) {
  dispute::TestRun before(dispute::RunShape{.steps = 3});
  const testkit::Scratch folder;
  const std::string path = folder / "start.safetensors";
  std::filesystem::copy_file(before.run->weights_path(), path);
  dispute::TestRun run(dispute::JobText({.steps = 3}) + fmt::format("[init]\nweights = \"{}\"\n", path));
  std::mutex turn;
  const auto peer = MakeLocalPeer(run.run->path(), run.prepared, *run.backend, run.pool, run.key, turn);
  ASSERT_TRUE(peer) << peer.error().message;
  const dispute::TreeName start{.kind = dispute::TreeKind::kState, .at = 0};
  const auto ask = [&](const dispute::TreeName& tree) {
    return (*peer)->Answer(Encode(Digest{}, dispute::ExpandQuestion{tree, {0, 2}}), 1000);
  };
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const auto failed = ask(start);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, PeerError::Kind::kFailed) << failed.error().why;
  const auto none = ask({.kind = dispute::TreeKind::kState, .at = 99});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, PeerError::Kind::kNever) << none.error().why;
}

}  // namespace
}  // namespace assay::service
