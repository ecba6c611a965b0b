// One op case, its inputs and the bytes that the reference gives for it, and the ways in which a backend can be asked for the same.
//
// Each check returns an empty string, or what is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/backend/host.h"
#include "assay/graph/op_def.h"
#include "assay/tensor/tensor.h"

namespace assay::testkit {

struct CaseRun {
  CaseRun(const OpDef& def, const OpCase& op_case);

  const OpDef& def;
  OpCase c;
  OpInstance op;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;  // one per output, by the reference on one thread
};

// The whole op into guarded memory.
std::string CheckWhole(const CaseRun& run, Backend& backend);
// An elementwise op in pieces of odd sizes.
std::string CheckPieces(const CaseRun& run, HostBackend& backend);
// An elementwise op with its outputs in the place of aligned inputs, in every possible way.
std::string CheckInPlace(const CaseRun& run, Backend& backend);
// Reference only: ranges of outputs from the declared input ranges alone.
std::string CheckDependencies(const CaseRun& run, std::int64_t& comparisons);

// Where two equally long outputs differ first, for messages.
std::string DescribeDifference(const TensorType& type, std::size_t output, ByteSpan got, ByteSpan expected);

}  // namespace assay::testkit
