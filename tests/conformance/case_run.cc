#include "conformance/case_run.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "assay/base/check.h"
#include "assay/semantics/ref/ref.h"
#include "support/guarded.h"
#include "support/op_inputs.h"

namespace assay::testkit {
namespace {

std::vector<const void*> Pointers(std::span<const Tensor> tensors) {
  std::vector<const void*> pointers;
  for (const Tensor& t : tensors) pointers.push_back(t.data());
  return pointers;
}

std::vector<Tensor> Copies(std::span<const Tensor> tensors, Backend& backend) {
  std::vector<Tensor> copies;
  for (const Tensor& t : tensors) copies.push_back(t.CopyTo(backend.memory()));
  return copies;
}

bool IsAligned(const CaseRun& run, std::size_t k) { return (run.def.aligned_inputs >> k & 1) != 0; }

std::vector<GuardedBuffer> OutputBuffers(const CaseRun& run, Backend& backend) {
  std::vector<GuardedBuffer> buffers;
  for (std::size_t k = 0; k < run.op.out.size(); ++k)
    buffers.emplace_back(run.op.out[k].bytes(), static_cast<std::uint8_t>(0xa5 + k), backend.memory());
  return buffers;
}

std::string CheckOutputs(const CaseRun& run, std::span<const GuardedBuffer> buffers, std::span<const Tensor> inputs) {
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    if (!buffers[k].GuardsIntact()) return fmt::format("output {}: wrote outside its memory", k);
    const Bytes got = buffers[k].Content();
    if (!std::equal(got.begin(), got.end(), run.expected[k].bytes().begin())) {
      return DescribeDifference(run.op.out[k], k, got, run.expected[k].bytes());
    }
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor after = inputs[k].CopyTo(HostMemory());
    if (!std::ranges::equal(after.bytes(), run.inputs[k].bytes())) return fmt::format("input {} was changed", k);
  }
  return {};
}

// Runs elements [begin, end) with pointers shifted as HostBackend::RunElements wants them.
void RunPiece(const CaseRun& run, HostBackend& backend, std::span<const void* const> inputs, std::span<void* const> outputs,
              std::int64_t begin, std::int64_t end) {
  std::vector<const void*> in(inputs.begin(), inputs.end());
  std::vector<void*> out(outputs.begin(), outputs.end());
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (IsAligned(run, k))
      in[k] = static_cast<const char*>(in[k]) + begin * static_cast<std::int64_t>(SizeOf(run.op.in[k].dtype));
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = static_cast<char*>(out[k]) + begin * static_cast<std::int64_t>(SizeOf(run.op.out[k].dtype));
  }
  backend.RunElements({&run.op, in, out}, begin, end);
}

std::string ShowElement(DType dtype, const std::uint8_t* at) {
  if (dtype == DType::kF32) {
    float f;
    std::memcpy(&f, at, 4);
    return fmt::format("{:08x} ({})", std::bit_cast<std::uint32_t>(f), f);
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, SizeOf(dtype));
  return fmt::format("{:x}", bits);
}

// Runs in place with output k over aligned input `over[k]`.
std::string CheckOneInPlace(const CaseRun& run, Backend& backend, std::span<const std::size_t> over, bool pieces) {
  std::vector<Tensor> inputs = Copies(run.inputs, backend);
  std::vector<void*> out;
  for (const std::size_t k : over) out.push_back(inputs[k].data());
  const std::vector<const void*> in = Pointers(inputs);
  if (pieces) {
    const std::int64_t n = run.op.out[0].elements();
    for (std::int64_t begin = 0; begin < n; begin += 33)
      RunPiece(run, *backend.AsHost(), in, out, begin, std::min(n, begin + 33));
  } else {
    backend.Run({&run.op, in, out});
  }
  for (std::size_t k = 0; k < over.size(); ++k) {
    const Tensor got = inputs[over[k]].CopyTo(HostMemory());
    if (std::ranges::equal(got.bytes(), run.expected[k].bytes())) continue;
    return fmt::format("in place of input {}: {}", over[k],
                       DescribeDifference(run.op.out[k], k, got.bytes(), run.expected[k].bytes()));
  }
  return {};
}

// Calls check for every choice of distinct aligned inputs of the right type, one for each output.
template <class Check>
std::string ForEachPlacement(const CaseRun& run, std::vector<std::size_t>& over, const Check& check) {
  if (over.size() == run.op.out.size()) return check(over);
  for (std::size_t k = 0; k < run.op.in.size(); ++k) {
    const TensorType& out = run.op.out[over.size()];
    if (!IsAligned(run, k) || run.op.in[k].dtype != out.dtype || run.op.in[k].elements() != out.elements()) continue;
    if (std::find(over.begin(), over.end(), k) != over.end()) continue;
    over.push_back(k);
    if (std::string error = ForEachPlacement(run, over, check); !error.empty()) return error;
    over.pop_back();
  }
  return {};
}

}  // namespace

std::string DescribeDifference(const TensorType& type, std::size_t output, ByteSpan got, ByteSpan expected) {
  const std::size_t size = SizeOf(type.dtype);
  std::size_t different = 0;
  std::size_t first = SIZE_MAX;
  for (std::size_t i = 0; i < got.size(); i += size) {
    if (std::memcmp(got.data() + i, expected.data() + i, size) == 0) continue;
    ++different;
    first = std::min(first, i);
  }
  if (first == SIZE_MAX) return {};
  return fmt::format("output {} {}: {} of {} elements differ, first at {}: got {}, expected {}", output, ToString(type),
                     different, got.size() / size, first / size, ShowElement(type.dtype, got.data() + first),
                     ShowElement(type.dtype, expected.data() + first));
}

CaseRun::CaseRun(const OpDef& d, const OpCase& op_case)
    : def(d), c(op_case), op(CaseInstance(d, op_case)), inputs(CaseInputs(d, op_case)) {
  std::vector<void*> out;
  for (const TensorType& type : op.out) {
    expected.emplace_back(type);
    out.push_back(expected.back().data());
  }
  const std::vector<const void*> in = Pointers(inputs);
  for (std::size_t k = 0; k < out.size(); ++k) {
    ref::Compute(def.index, {&op, in, out}, static_cast<int>(k), {0, op.out[k].elements()});
  }
}

std::string CheckWhole(const CaseRun& run, Backend& backend) {
  const std::vector<Tensor> inputs = Copies(run.inputs, backend);
  std::vector<GuardedBuffer> buffers = OutputBuffers(run, backend);
  std::vector<void*> out;
  for (GuardedBuffer& buffer : buffers) out.push_back(buffer.data());
  const std::vector<const void*> in = Pointers(inputs);
  backend.Run({&run.op, in, out});
  return CheckOutputs(run, buffers, inputs);
}

std::string CheckPieces(const CaseRun& run, HostBackend& backend) {
  const std::vector<Tensor> inputs = Copies(run.inputs, backend);
  const std::vector<const void*> in = Pointers(inputs);
  const std::int64_t n = run.op.out[0].elements();
  for (const std::int64_t step : {1, 7, 65}) {
    std::vector<GuardedBuffer> buffers = OutputBuffers(run, backend);
    std::vector<void*> out;
    for (GuardedBuffer& buffer : buffers) out.push_back(buffer.data());
    // Backwards, so that a piece that writes too far destroys one that is complete.
    for (std::int64_t begin = (n - 1) / step * step; begin >= 0 && n > 0; begin -= step) {
      RunPiece(run, backend, in, out, begin, std::min(n, begin + step));
    }
    if (std::string error = CheckOutputs(run, buffers, inputs); !error.empty())
      return fmt::format("pieces of {}: {}", step, error);
  }
  return {};
}

std::string CheckInPlace(const CaseRun& run, Backend& backend) {
  std::vector<std::size_t> over;
  return ForEachPlacement(run, over, [&](std::span<const std::size_t> placement) {
    std::string error = CheckOneInPlace(run, backend, placement, false);
    return error.empty() && backend.AsHost() != nullptr ? CheckOneInPlace(run, backend, placement, true) : error;
  });
}

}  // namespace assay::testkit
