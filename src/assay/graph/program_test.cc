#include "assay/graph/program.h"

#include <gtest/gtest.h>

#include "support/mini_ops.h"

namespace assay {
namespace {

const TensorType kScalar{DType::kF32, {}};
const TensorType kMatrix{DType::kF32, {2, 3}};

struct Parts {
  std::string loss = "loss", gradient = "grad/w", batch = "batch/x", reduced = "reduced/grad/w", state_out = "state/w",
              rng = "rng";
  TensorType w_in_micro = kMatrix, rng_type{DType::kU32, {4}}, lr = kScalar, step{DType::kI64, {}}, loss_type = kScalar;
};

Program Make(const Parts& parts = {}) {
  Program p;
  p.state = {{"m", kMatrix, {}}, {"w", kMatrix, {InitKind::kNormal, 0.02f}}};
  p.microbatches = 4;
  GraphBuilder micro(mini::Table());
  const ValueId w = micro.Input("state/w", parts.w_in_micro);
  micro.Input(parts.batch, parts.w_in_micro);
  micro.Input(parts.rng, parts.rng_type);
  const auto dims = parts.loss_type.shape.dims();
  micro.Output(parts.loss, micro.Add(mini::kFill, {std::vector<std::int64_t>(dims.begin(), dims.end()), 1.5f}, {}).front());
  micro.Output(parts.gradient, micro.Add(mini::kScale, {0.5f, std::int64_t{-1}}, {w}).front());
  p.micro = std::move(micro).Finish();
  GraphBuilder update(mini::Table());
  const ValueId old = update.Input("state/w", kMatrix);
  const ValueId g = update.Input(parts.reduced, kMatrix);
  update.Input("lr", parts.lr);
  update.Input("step", parts.step);
  update.Output(parts.state_out, update.Add(mini::kAdd, {}, {old, g}).front());
  update.Output("metric/one", update.Add(mini::kFill, {std::vector<std::int64_t>{}, 1.0f}, {}).front());
  p.update = std::move(update).Finish();
  return p;
}

TEST(Program, SurvivesItsEncoding) {
  const Program p = Make();
  ASSERT_TRUE(Verify(p).has_value()) << Verify(p).error().message;
  const Bytes bytes = Encode(p);
  const auto again = DecodeProgram(mini::Table(), bytes);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(Encode(*again), bytes);
  EXPECT_EQ(again->state.size(), 2u);
  EXPECT_EQ(again->state[1].name, "w");
  EXPECT_EQ(again->state[1].init, (Init{InitKind::kNormal, 0.02f}));
  EXPECT_EQ(again->microbatches, 4);
  EXPECT_EQ(again->micro.nodes().size(), 2u);
  EXPECT_EQ(again->micro.nodes()[1].attrs, (Attrs{0.5f, std::int64_t{-1}}));
  EXPECT_EQ(again->update.outputs()[0].name, "state/w");
}

TEST(Program, EveryTruncationIsRefused) {
  const Bytes bytes = Encode(Make());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeProgram(mini::Table(), ByteSpan(bytes).first(size)).has_value()) << size;
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(DecodeProgram(mini::Table(), longer).has_value());
}

TEST(Program, AFlippedBitIsRefusedOrIsAnotherProgram) {
  const Bytes bytes = Encode(Make());
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes changed = bytes;
      changed[i] = static_cast<std::uint8_t>(changed[i] ^ 1 << bit);
      const auto program = DecodeProgram(mini::Table(), changed);
      if (!program) continue;
      ++accepted;
      EXPECT_EQ(Encode(*program), changed) << "byte " << i;
    }
  }
  EXPECT_GT(accepted, 0u);  // for instance another initial value
}

TEST(Program, EveryWordOfExtremesIsSafe) {
  const Bytes bytes = Encode(Make());
  for (std::size_t i = 0; i + 4 <= bytes.size(); ++i) {
    for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
      Bytes changed = bytes;
      for (std::size_t k = 0; k < 4; ++k) changed[i + k] = static_cast<std::uint8_t>(value);
      const auto program = DecodeProgram(mini::Table(), changed);
      EXPECT_TRUE(!program || Encode(*program) == changed);
    }
  }
}

void ExpectRefused(const Program& p, std::string_view reason) {
  const auto status = Verify(p);
  ASSERT_FALSE(status.has_value()) << reason;
  EXPECT_NE(status.error().message.find(reason), std::string::npos) << status.error().message;
  EXPECT_FALSE(DecodeProgram(mini::Table(), Encode(p)).has_value());
}

TEST(Program, NamesMustConnect) {
  ExpectRefused(Make({.loss = "error"}), "'loss'");
  ExpectRefused(Make({.gradient = "grad/v"}), "no state tensor");
  ExpectRefused(Make({.gradient = "other"}), "grad/NAME");
  ExpectRefused(Make({.batch = "image"}), "batch/FIELD");
  ExpectRefused(Make({.batch = "batch/"}), "batch/FIELD");
  ExpectRefused(Make({.reduced = "reduced/grad/m"}), "no micro output");
  ExpectRefused(Make({.reduced = "grad/w"}), "reduced/NAME");
  ExpectRefused(Make({.state_out = "state/v"}), "no state tensor");
  ExpectRefused(Make({.state_out = "w"}), "metric/NAME");
  ExpectRefused(Make({.rng = "random"}), "rng");
  ExpectRefused(Make({.batch = "batch/a b"}), "visible ASCII");
}

TEST(Program, TypesMustConnect) {
  ExpectRefused(Make({.w_in_micro = {DType::kF32, {3, 2}}}), "state/w is f32[3, 2]");
  ExpectRefused(Make({.rng_type = {DType::kU32, {5}}}), "rng");
  ExpectRefused(Make({.lr = {DType::kF32, {1}}}), "lr");
  ExpectRefused(Make({.step = kScalar}), "step");
  ExpectRefused(Make({.loss_type = {DType::kF32, {1}}}), "loss");
}

TEST(Program, StatesAreSortedUniqueAndFinite) {
  Program p = Make();
  std::swap(p.state[0], p.state[1]);
  ExpectRefused(p, "must come after");
  p = Make();
  p.state[0].name = "w";
  ExpectRefused(p, "must come after");
  p = Make();
  p.state[0].init.value = std::numeric_limits<float>::infinity();
  ExpectRefused(p, "finite");
  p = Make();
  p.state[0].type.dtype = DType::kI64;
  p.state[0].init.value = 1;
  ExpectRefused(p, "only f32");
  p = Make();
  p.microbatches = 0;
  ExpectRefused(p, "microbatches");
}

TEST(Program, AnotherSemanticsVersionIsRefused) {
  Bytes bytes = Encode(Make());
  // The first node of the micro graph is the scale or the fill; either way its version stands behind its wire id.
  const std::uint16_t wire = mini::Table()[mini::kFill].wire_id;
  bool found = false;
  for (std::size_t i = 0; i + 4 <= bytes.size() && !found; ++i) {
    if (bytes[i] == wire && bytes[i + 1] == 0 && bytes[i + 2] == 3 && bytes[i + 3] == 0) {
      bytes[i + 2] = 4;
      found = true;
    }
  }
  ASSERT_TRUE(found);
  const auto program = DecodeProgram(mini::Table(), bytes);
  ASSERT_FALSE(program.has_value());
  EXPECT_NE(program.error().message.find("version 4"), std::string::npos) << program.error().message;
}

TEST(Program, DeadNodesAreRefused) {
  // Encoded by hand: one input, one node that nothing uses, the input as output.
  ByteWriter out;
  out.U32(1);
  out.String("x");
  out.U8(1);
  out.U8(0);
  out.U32(1);
  out.U16(mini::Table()[mini::kAdd].wire_id);
  out.U16(3);
  out.U32(2);
  out.U32(0);
  out.U32(0);
  out.U32(1);
  out.String("y");
  out.U32(0);
  ByteReader in(out.bytes(), "graph");
  const auto graph = DecodeGraph(mini::Table(), in);
  ASSERT_FALSE(graph.has_value());
  EXPECT_NE(graph.error().message.find("feed no output"), std::string::npos);
}

}  // namespace
}  // namespace assay
