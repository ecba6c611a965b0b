#include "assay/graph/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "assay/graph/program_limits.h"
#include "assay/graph/type_codec.h"

namespace assay {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {'a', 's', 's', 'a', 'y', 'p', 'r', 'g'};
constexpr std::uint32_t kVersion = 1;

const TensorType kScalar{DType::kF32, {}};
const TensorType kRngType{DType::kU32, {4}};
const TensorType kStepType{DType::kI64, {}};

// The part of `name` behind `prefix`, or nothing.
std::optional<std::string_view> After(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return std::nullopt;
  return name.substr(prefix.size());
}

Status CheckType(std::string_view what, const TensorType& got, const TensorType& expected) {
  if (got == expected) return {};
  return Err("program: {} is {}, expected {}", what, ToString(got), ToString(expected));
}

const StateSpec* FindState(const Program& program, std::string_view name) {
  const auto it = std::lower_bound(program.state.begin(), program.state.end(), name,
                                   [](const StateSpec& spec, std::string_view n) { return spec.name < n; });
  return it != program.state.end() && it->name == name ? &*it : nullptr;
}

Status CheckState(const Program& program, std::string_view what, std::string_view name, const TensorType& type) {
  const StateSpec* spec = FindState(program, name);
  if (spec == nullptr) return Err("program: {} names no state tensor", what);
  return CheckType(what, type, spec->type);
}

Status VerifyStates(const Program& program) {
  for (std::size_t i = 0; i < program.state.size(); ++i) {
    const StateSpec& spec = program.state[i];
    ASSAY_TRY(CheckName(spec.name));
    if (i > 0 && !(program.state[i - 1].name < spec.name)) {
      return Err("program: state '{}' must come after '{}' and differ from it", spec.name, program.state[i - 1].name);
    }
    if (!std::isfinite(spec.init.value)) return Err("program: state '{}': the initial value must be finite", spec.name);
    const bool zeros = spec.init == Init{};
    if (spec.type.dtype != DType::kF32 && !zeros)
      return Err("program: state '{}': only f32 may start with other values than 0", spec.name);
  }
  return {};
}

Status VerifyMicro(const Program& program) {
  const Graph& micro = program.micro;
  for (const NamedValue& input : micro.inputs()) {
    ASSAY_TRY(CheckName(input.name));
    const TensorType& type = micro.type(input.value);
    if (const auto state = After(input.name, "state/")) {
      ASSAY_TRY(CheckState(program, input.name, *state, type));
    } else if (input.name == "rng") {
      ASSAY_TRY(CheckType(input.name, type, kRngType));
    } else if (!After(input.name, "batch/")) {
      return Err("program: micro input '{}' is not state/NAME, batch/FIELD or rng", input.name);
    }
  }
  if (micro.outputs().empty() || micro.outputs()[0].name != "loss")
    return Err("program: the first micro output must be 'loss'");
  ASSAY_TRY(CheckType("loss", micro.type(micro.outputs()[0].value), kScalar));
  for (const NamedValue& output : micro.outputs().subspan(1)) {
    ASSAY_TRY(CheckName(output.name));
    const TensorType& type = micro.type(output.value);
    if (const auto state = After(output.name, "grad/")) {
      ASSAY_TRY(CheckState(program, output.name, *state, type));
    } else if (!After(output.name, "stat/")) {
      return Err("program: micro output '{}' is not loss, grad/NAME or stat/NAME", output.name);
    }
    if (type.dtype != DType::kF32) return Err("program: micro output '{}' is {}, expected f32", output.name, ToString(type));
  }
  return {};
}

Status VerifyUpdate(const Program& program) {
  const Graph& update = program.update;
  std::unordered_map<std::string_view, ValueId> micro_outputs;
  for (const NamedValue& output : program.micro.outputs()) micro_outputs.emplace(output.name, output.value);
  for (const NamedValue& input : update.inputs()) {
    ASSAY_TRY(CheckName(input.name));
    const TensorType& type = update.type(input.value);
    if (const auto state = After(input.name, "state/")) {
      ASSAY_TRY(CheckState(program, input.name, *state, type));
    } else if (const auto reduced = After(input.name, "reduced/")) {
      const auto output = micro_outputs.find(*reduced);
      if (output == micro_outputs.end()) return Err("program: update input '{}' names no micro output", input.name);
      ASSAY_TRY(CheckType(input.name, type, program.micro.type(output->second)));
    } else if (input.name == "lr") {
      ASSAY_TRY(CheckType(input.name, type, kScalar));
    } else if (input.name == "step") {
      ASSAY_TRY(CheckType(input.name, type, kStepType));
    } else {
      return Err("program: update input '{}' is not state/NAME, reduced/NAME, lr or step", input.name);
    }
  }
  for (const NamedValue& output : update.outputs()) {
    ASSAY_TRY(CheckName(output.name));
    const TensorType& type = update.type(output.value);
    if (const auto state = After(output.name, "state/")) {
      ASSAY_TRY(CheckState(program, output.name, *state, type));
    } else if (After(output.name, "metric/")) {
      ASSAY_TRY(CheckType(output.name, type, kScalar));
    } else {
      return Err("program: update output '{}' is not state/NAME or metric/NAME", output.name);
    }
  }
  return {};
}

Result<StateSpec> DecodeState(ByteReader& in) {
  StateSpec spec;
  ASSAY_ASSIGN(spec.name, DecodeName(in));
  ASSAY_ASSIGN(spec.type, DecodeType(in));
  ASSAY_ASSIGN(std::uint8_t kind, in.U8());
  if (kind > static_cast<std::uint8_t>(InitKind::kUniform))
    return Err("program: state '{}': unknown kind of initial value {}", spec.name, kind);
  spec.init.kind = static_cast<InitKind>(kind);
  ASSAY_ASSIGN(spec.init.value, in.F32());
  return spec;
}

}  // namespace

Bytes Encode(const Program& program) {
  ByteWriter out;
  out.Raw(kMagic);
  out.U32(kVersion);
  out.U32(static_cast<std::uint32_t>(program.state.size()));
  for (const StateSpec& spec : program.state) {
    out.String(spec.name);
    EncodeType(spec.type, out);
    out.U8(static_cast<std::uint8_t>(spec.init.kind));
    out.F32(spec.init.value);
  }
  out.I64(program.microbatches);
  Encode(program.micro, out);
  Encode(program.update, out);
  return out.Take();
}

Result<Program> DecodeProgram(const OpTable& table, ByteSpan bytes) {
  if (bytes.size() > kMaxProgramBytes) return Err("program: {} bytes, at most {} allowed", bytes.size(), kMaxProgramBytes);
  ByteReader in(bytes, "program");
  ASSAY_ASSIGN(ByteSpan magic, in.Raw(kMagic.size()));
  if (!std::equal(magic.begin(), magic.end(), kMagic.begin()))
    return Err("program: expected the bytes 'assayprg' at the start");
  ASSAY_ASSIGN(std::uint32_t version, in.U32());
  if (version != kVersion) return Err("program: format version {}, this build knows {}", version, kVersion);
  Program program;
  ASSAY_ASSIGN(std::uint32_t states, in.U32());
  if (states > kMaxNames) return Err("program: {} state tensors, at most {} allowed", states, kMaxNames);
  for (std::uint32_t i = 0; i < states; ++i) {
    ASSAY_ASSIGN(StateSpec spec, DecodeState(in));
    program.state.push_back(std::move(spec));
  }
  ASSAY_ASSIGN(program.microbatches, in.I64());
  ASSAY_ASSIGN(program.micro, DecodeGraph(table, in));
  ASSAY_ASSIGN(program.update, DecodeGraph(table, in));
  ASSAY_TRY(in.End());
  ASSAY_TRY(Verify(program));
  if (Bytes again = Encode(program); !std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) {
    return Err("program: the bytes are not the canonical encoding of what they describe");
  }
  return program;
}

Status Verify(const Program& program) {
  if (program.microbatches < 1 || program.microbatches > kMaxMicrobatches) {
    return Err("program: {} microbatches, expected 1 to {}", program.microbatches, kMaxMicrobatches);
  }
  ASSAY_TRY(VerifyStates(program));
  ASSAY_TRY(VerifyMicro(program));
  return VerifyUpdate(program);
}

}  // namespace assay
