// The encodings of a job and its program as they come with evidence, and disputes about whatever job that is.
#include "assay/base/check.h"
#include "assay/ops/table.h"
#include "forged.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

using namespace dispute;  // the whole file is about it

Bytes Pair(const Bytes& job, const Bytes& program) {
  ByteWriter out;
  out.Blob(job);
  out.Raw(program);
  return out.Take();
}

}  // namespace

// The job as a blob, then the program.
void RunTerms(ByteSpan input) {
  ByteReader in(input, "input");
  const auto size = in.U64();
  if (!size || *size > in.remaining()) return;
  const auto job = in.Raw(static_cast<std::size_t>(*size));
  const auto program = in.Raw(in.remaining());
  const auto terms = Terms::Make({job->begin(), job->end()}, {program->begin(), program->end()});
  if (terms) PlayForged(*terms);
  ASSAY_CHECK(terms || terms.error().message.find('\n') == std::string::npos);
}

std::vector<Bytes> TermsSeeds() {
  std::vector<Bytes> seeds;
  for (const Job& job : {SmallMlp(), SmallGpt2()}) seeds.push_back(Pair(Encode(job, ForgedInputs()), dispute::ProgramOf(job)));
  // Without a state, without elements, without nodes: each of these once ended a judge.
  Job one = SmallMlp();
  one.batch.microbatches = 1;
  const Bytes job = Encode(one, ForgedInputs());
  const TensorType features{DType::kF32, {4, 7}}, nothing{DType::kF32, {4, 0}}, no_rows{DType::kF32, {0, 7}};
  const auto sum = [](GraphBuilder& graph, ValueId x) { return graph.Add(op::sum_squares, {}, {x})[0]; };
  const auto own = [](GraphBuilder& graph, ValueId) { return graph.Input("state/s", {DType::kF32, {}}); };
  const StateSpec weight{"w", {DType::kF32, {3}}, {}}, empty{"w", {DType::kF32, {0}}, {}}, scalar{"s", {DType::kF32, {}}, {}};
  for (const Program& program :
       {WithLoss(sum, {weight}, features), WithLoss(sum, {}, features), WithLoss(sum, {empty}, features),
        WithLoss(sum, {weight}, nothing), WithLoss(sum, {weight}, no_rows), WithLoss(own, {scalar}, features)}) {
    seeds.push_back(Pair(job, Encode(program)));
  }
  return seeds;
}

}  // namespace assay::fuzz
