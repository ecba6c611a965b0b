// The inputs of an op's test cases: a pure function of op, case and input number, computed without a library function, so that
// golden digests hold on every machine.
#pragma once

#include <vector>

#include "assay/graph/op_def.h"
#include "assay/tensor/tensor.h"

namespace assay::testkit {

// One tensor per input of the case.
std::vector<Tensor> CaseInputs(const OpDef& def, const OpCase& c);

// The op applied to the case's types; the case must fit the op.
OpInstance CaseInstance(const OpDef& def, const OpCase& c);

// The stream of draws of an input of a case.
std::uint32_t StreamOf(const OpDef& def, const OpCase& c, std::size_t input);

// A draw that looks normal (the sum of eight uniform ones), with mean 0 and variance 1; element i of stream `stream`.
float NormalDraw(std::uint32_t stream, std::uint32_t i);
std::uint32_t Draw(std::uint32_t stream, std::uint32_t i);

}  // namespace assay::testkit
