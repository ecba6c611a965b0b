// Encodings of jobs and programs from whoever likes: every number in them is set to what breaks programs. A referee refuses them in words, or plays any dispute about them to
// its end: no abort, no run-away memory or time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>

#include "assay/job/limits.h"
#include "assay/ops/table.h"
#include "counted_memory.h"
#include "forged.h"
#include "large_jobs.h"

namespace assay::dispute {
namespace {

// Where a number stands in an encoding.
struct Place {
  std::size_t at = 0;
  std::size_t width = 0;
  std::uint64_t value = 0;
  std::string what{};
};

// Walks over an encoding as its document describes it, and notes the numbers.
class Places {
 public:
  explicit Places(ByteSpan bytes) : bytes_(bytes) {}
  const std::vector<Place>& found() const { return found_; }

  std::uint64_t Number(std::size_t width, std::string what) {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | bytes_[at_ + i];
    found_.push_back({at_, width, value, std::move(what)});
    at_ += width;
    return value;
  }
  std::string String() {
    const std::uint64_t size = Number(4, "length of a name");
    const std::string text(bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
                           bytes_.begin() + static_cast<std::ptrdiff_t>(at_ + size));
    at_ += size;
    return text;
  }
  void Skip(std::size_t bytes) { at_ += bytes; }
  bool AtEnd() const { return at_ == bytes_.size(); }

  void Type() {
    Number(1, "element type");
    const std::uint64_t rank = Number(1, "rank");
    for (std::uint64_t axis = 0; axis < rank; ++axis) Number(8, "extent");
  }
  void Attrs(std::span<const AttrSpec> specs) {
    for (const AttrSpec& spec : specs) {
      switch (spec.kind) {
        case AttrKind::kInt: Number(8, "attribute"); break;
        case AttrKind::kFloat: Number(4, "float"); break;
        case AttrKind::kInts:
          for (std::uint64_t i = 0, count = Number(4, "length of a list"); i < count; ++i) Number(8, "attribute");
      }
    }
  }
  void Graph() {
    for (std::uint64_t i = 0, count = Number(4, "inputs"); i < count; ++i) {
      String();
      Type();
    }
    for (std::uint64_t i = 0, count = Number(4, "nodes"); i < count; ++i) {
      const auto op = Ops().FindWireId(static_cast<std::uint16_t>(Number(2, "op")));
      const bool optional = (Number(2, "version") & 0x8000) != 0;
      Attrs(optional ? Ops()[*op].attrs : Required(Ops()[*op].attrs));
      for (std::uint64_t k = 0, inputs = Number(4, "inputs of a node"); k < inputs; ++k) Number(4, "value");
    }
    for (std::uint64_t i = 0, count = Number(4, "outputs"); i < count; ++i) {
      String();
      Number(4, "value");
    }
  }
  void Program() {
    Skip(8);
    Number(4, "version");
    for (std::uint64_t i = 0, count = Number(4, "states"); i < count; ++i) {
      String();
      Type();
      Number(1, "kind");
      Number(4, "float");
    }
    Number(8, "microbatches");
    Graph();
    Graph();
  }
  void Job() {
    Skip(8);
    Number(4, "version");
    String();
    Skip(32);
    if (Number(1, "has weights") == 1) Skip(32);
    while (!AtEnd()) {
      const std::string key = String();
      switch (Number(1, "type of " + key)) {
        case 1: Number(8, key); break;
        case 2: Number(4, key); break;
        case 3: Number(1, key); break;
        case 4: String(); break;
        case 5:
          for (std::uint64_t i = 0, count = Number(8, "length of " + key); i < count; ++i) Number(8, key);
          break;
        default: FAIL() << key;
      }
    }
  }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
  std::vector<Place> found_;
};

constexpr std::uint64_t kMid = 1u << 16, kHigh = std::uint64_t{1} << 32, kTop = std::uint64_t{1} << 63;
constexpr std::uint64_t kValues[] = {0,         1,         2,         3,          255,      4096,     kMid, kMid << 4,
                                     kHigh / 2, kHigh - 1, kHigh * 4, kHigh << 8, kTop / 2, kTop - 1, kTop, UINT64_MAX};

Bytes With(Bytes bytes, const Place& place, std::uint64_t value) {
  for (std::size_t i = 0; i < place.width; ++i) bytes[place.at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  return bytes;
}

// All of them take a minute.
std::size_t PlayedOneIn() { return std::getenv("ASSAY_HOSTILE_FULL") != nullptr ? 1 : 7; }

Job ByDigits(Job job) {
  job.precision = Precision::kInt8x3;
  return job;
}

TEST(Hostile, EveryNumberOfAProgram) {
  for (const Job& job : {SmallMlp(), SmallGpt2(), ByDigits(SmallMlp())}) {
    const Bytes encoding = Encode(job, ForgedInputs()), program = ProgramOf(job);
    Places places(program);
    places.Program();
    ASSERT_TRUE(places.AtEnd());
    std::size_t accepted = 0;
    ForgedGames games;
    for (const Place& place : places.found()) {
      for (const std::uint64_t value : kValues) {
        Job other = job;
        if (place.what == "microbatches" && value >= 1 && value <= 65536)
          other.batch.microbatches = static_cast<std::int64_t>(value);
        const auto terms = Terms::Make(Encode(other, ForgedInputs()), With(program, place, value));
        if (!terms) {
          EXPECT_EQ(terms.error().message.find('\n'), std::string::npos);
          continue;
        }
        SCOPED_TRACE(fmt::format("{} at {} set to {}", place.what, place.at, value));
        if (accepted++ % PlayedOneIn() == 0) games += PlayForged(*terms);
      }
    }
    fmt::print("{} numbers, {} programs accepted, {} disputes played, {} convict\n", places.found().size(), accepted,
               games.played, games.convicted);
    EXPECT_GT(games.convicted, games.played / 2);
    EXPECT_GT(accepted, 0u);
  }
}

// All extents and attributes of one value at once, so that the shapes still fit each other.
TEST(Hostile, EveryExtentOfAProgram) {
  for (const Job& job : {SmallMlp(), SmallGpt2()}) {
    const Bytes program = ProgramOf(job);
    Places places(program);
    places.Program();
    std::set<std::uint64_t> extents;
    const auto is_extent = [](const Place& place) { return place.what == "extent" || place.what == "attribute"; };
    for (const Place& place : places.found()) {
      if (is_extent(place)) extents.insert(place.value);
    }
    std::size_t accepted = 0;
    ForgedGames games;
    for (const std::uint64_t extent : extents) {
      for (const std::uint64_t value : kValues) {
        Bytes changed = program;
        for (const Place& place : places.found()) {
          if (is_extent(place) && place.value == extent) changed = With(std::move(changed), place, value);
        }
        Job other = job;
        const bool rows = extent == static_cast<std::uint64_t>(job.batch.microbatch);
        if (rows && value >= 1 && value <= 1 << 20) other.batch.microbatch = static_cast<std::int64_t>(value);
        const auto terms = Terms::Make(Encode(other, ForgedInputs()), std::move(changed));
        if (!terms) continue;
        SCOPED_TRACE(fmt::format("{} set to {}", extent, value));
        ++accepted;
        games += PlayForged(*terms);
      }
    }
    fmt::print("{} extents, {} programs accepted, {} disputes played, {} convict\n", extents.size(), accepted, games.played,
               games.convicted);
    EXPECT_GT(games.convicted, games.played / 2);
    EXPECT_GT(accepted, 0u);
  }
}

TEST(Hostile, EveryNumberOfAJob) {
  for (const Job& job : {SmallMlp(), SmallGpt2()}) {
    const Bytes encoding = Encode(job, ForgedInputs());
    Places places(encoding);
    places.Job();
    ASSERT_TRUE(places.AtEnd());
    std::size_t accepted = 0;
    ForgedGames games;
    for (const Place& place : places.found()) {
      for (const std::uint64_t value : kValues) {
        SCOPED_TRACE(fmt::format("{} set to {}", place.what, value));
        // With the program of the job as it was, and with the one of the job as it is.
        for (const auto& terms :
             {Terms::Make(With(encoding, place, value), ProgramOf(job)), Terms::Rebuild(With(encoding, place, value))}) {
          if (!terms) continue;
          for (const std::int64_t entry : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) {
            EXPECT_GE(terms->StepOf(entry), 0);
            EXPECT_GE(terms->StepBefore(entry), 0);
          }
          if (accepted++ % PlayedOneIn() == 0) games += PlayForged(*terms);
        }
      }
    }
    fmt::print("{} numbers, {} jobs accepted, {} disputes played, {} convict\n", places.found().size(), accepted, games.played,
               games.convicted);
    EXPECT_GT(games.convicted, games.played / 2);
  }
}

// An otherwise valid program of these parts.
Result<Terms> TermsOf(Program program) {
  Job job = SmallMlp();
  job.batch.microbatches = program.microbatches;
  return Terms::Make(Encode(job, ForgedInputs()), Encode(program));
}

TEST(Hostile, ProgramsWithoutWhatADisputeIsAbout) {
  const StateSpec weight{"w", {DType::kF32, {3}}, {}};
  const auto sum = [](GraphBuilder& graph, ValueId x) { return graph.Add(op::sum_squares, {}, {x})[0]; };
  const TensorType features{DType::kF32, {4, 7}};
  EXPECT_TRUE(TermsOf(WithLoss(sum, {weight}, features)));
  const auto refused = [&](const Program& program) {
    const auto terms = TermsOf(program);
    if (terms) PlayForged(*terms);
    return terms ? std::string() : terms.error().message;
  };
  EXPECT_EQ(refused(WithLoss(sum, {}, features)), "program: has no state");
  EXPECT_EQ(refused(WithLoss(sum, {{"w", {DType::kF32, {3, 0}}, {}}}, features)), "program: state 'w' has no elements");
  EXPECT_EQ(refused(WithLoss(sum, {weight}, {DType::kF32, {4, 0}})), "program: micro input 'batch/features' has no elements");
  EXPECT_EQ(refused(WithLoss(sum, {weight}, {DType::kF32, {0, 7}})), "program: micro input 'batch/features' has no elements");
  EXPECT_EQ(refused(WithLoss(sum, {weight}, {DType::kF32, {5, 7}})),
            "program: batch/features is f32[5, 7], expected 4 samples");
  EXPECT_EQ(refused(WithLoss(sum, {weight}, {DType::kF32, {}})), "program: batch/features is f32[], expected 4 samples");
  const auto own_state = [](GraphBuilder& graph, ValueId) { return graph.Input("state/s", {DType::kF32, {}}); };
  EXPECT_EQ(refused(WithLoss(own_state, {{"s", {DType::kF32, {}}, {}}}, features)),
            "program: micro output 'loss' is no node's output");
  // The streams from which starting values, orders of samples and data are drawn.
  const auto drawing = [](std::int64_t stream) {
    return [stream](GraphBuilder& graph, ValueId x) {
      const ValueId rng = graph.Input("rng", {DType::kU32, {4}});
      return graph.Add(op::sum_squares, {}, {graph.Add(op::dropout, {0.5f, stream}, {x, rng})[0]})[0];
    };
  };
  EXPECT_TRUE(TermsOf(WithLoss(drawing(0x0fffffff), {weight}, features)));
  for (const std::int64_t stream : {0x10000000ll, 0x20000000ll, 0xffffffffll}) {
    EXPECT_EQ(
        refused(WithLoss(drawing(stream), {weight}, features)),
        fmt::format("program: micro node 0 (dropout): random stream 0x{:08x} is reserved, those of nodes go up to 0x0fffffff",
                    stream));
  }
  // A batch of more samples than can be counted, in a program and a job that agree about it.
  Job job = SmallMlp();
  job.batch = {.microbatch = 1 << 20, .microbatches = 1 << 16};
  Program huge = WithLoss(sum, {weight}, {DType::kF32, {1 << 20, 7}});
  huge.microbatches = 1 << 16;
  const auto terms = Terms::Make(Encode(job, {}), Encode(huge));
  ASSERT_FALSE(terms);
  EXPECT_EQ(terms.error().message,
            "batch: 65536 microbatches of 1048576 samples, at most 2147483648 samples in all can be disputed");
}

void ExpectCheap(const char* what, const std::function<bool()>& make) {
  ResetPeak();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(make()) << what;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{}: {:.1f} MB, {:.3f} s\n", what, static_cast<double>(PeakBytes()) / 1e6, seconds);
  EXPECT_LE(PeakBytes(), 64'000'000) << what;
  EXPECT_LE(seconds, 5) << what;  // on a machine that does other things too
}

TEST(Hostile, TheDearestProgramsAreCheap) {
  // As many nodes as may be, in both graphs.
  Program nodes = WithLoss(
      [](GraphBuilder& graph, ValueId x) {
        ValueId value = graph.Add(op::sum_squares, {}, {x})[0];
        for (std::uint32_t i = 1; i < kMaxNodes; ++i) value = graph.Add(op::add, {}, {value, value})[0];
        return value;
      },
      {{"w", {DType::kF32, {3}}, {}}}, {DType::kF32, {4, 7}});
  GraphBuilder update(Ops());
  ValueId value = update.Input("state/w", {DType::kF32, {3}});
  for (std::uint32_t i = 0; i < kMaxNodes; ++i) value = update.Add(op::add, {}, {value, value})[0];
  update.Output("state/w", value);
  nodes.update = std::move(update).Finish();
  const Bytes many_nodes = Encode(nodes);

  // As many bytes as may be, of nodes that take the most memory for them.
  const auto adams = [](GraphBuilder& graph, ValueId p, ValueId lr, ValueId step) {
    for (std::size_t i = 0; i < kMaxProgramBytes / 105; ++i) {
      p = graph.Add(op::adam, {0.9f, 0.999f, 1e-8f, 0.0f}, {p, p, p, p, lr, lr, step})[0];
    }
    return p;
  };
  Program values;
  values.state = {{"a", {DType::kF32, {}}, {}}, {"b", {DType::kI64, {}}, {}}};
  GraphBuilder micro(Ops());
  const ValueId features = micro.Input("batch/features", {DType::kF32, {4, 7}}),
                rate = micro.Input("state/a", {DType::kF32, {}});
  const ValueId number = micro.Input("state/b", {DType::kI64, {}});
  micro.Output("loss", adams(micro, micro.Add(op::sum_squares, {}, {features})[0], rate, number));
  values.micro = std::move(micro).Finish();
  GraphBuilder adam(Ops());
  const ValueId a = adam.Input("state/a", {DType::kF32, {}}), lr = adam.Input("lr", {DType::kF32, {}}),
                step = adam.Input("step", {DType::kI64, {}});
  adam.Output("state/a", adams(adam, a, lr, step));
  values.update = std::move(adam).Finish();
  const Bytes many_values = Encode(values);

  // As many names as may be, as long as the bytes allow.
  Program names = WithLoss([](GraphBuilder& graph, ValueId x) { return graph.Add(op::sum_squares, {}, {x})[0]; }, {},
                           {DType::kF32, {4, 7}});
  GraphBuilder passing(Ops());
  for (std::uint32_t i = 0; i < kMaxNames - 2; ++i) {
    const std::string name = fmt::format("{:040}", i);
    names.state.push_back({name, {DType::kF32, {1}}, {}});
    passing.Output("state/" + name, passing.Input("state/" + name, {DType::kF32, {1}}));
  }
  names.update = std::move(passing).Finish();
  const Bytes many_names = Encode(names);
  fmt::print("bytes of many nodes: {}, values: {}, names: {}\n", many_nodes.size(), many_values.size(), many_names.size());

  Job job = SmallMlp();
  job.batch.microbatches = 1;
  const Bytes encoding = Encode(job, ForgedInputs());
  ExpectCheap("many nodes", [&] { return Terms::Make(encoding, many_nodes).has_value(); });
  ExpectCheap("many values", [&] { return Terms::Make(encoding, many_values).has_value(); });
  ExpectCheap("many names", [&] { return Terms::Make(encoding, many_names).has_value(); });
  ExpectCheap("too many bytes", [&] { return !Terms::Make(encoding, Bytes(std::size_t{48} << 20)).has_value(); });
  // The largest that a job describes.
  const LargeJob largest = Gpt2Of(256);
  ExpectCheap("gpt2 256 layers",
              [&] { return Terms::Make(largest.terms.job_bytes(), largest.terms.program_bytes()).has_value(); });
  ExpectCheap("gpt2 256 layers, built", [&] { return Terms::Rebuild(largest.terms.job_bytes()).has_value(); });
}

}  // namespace
}  // namespace assay::dispute
