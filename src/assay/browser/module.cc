// The judge as a WebAssembly module that imports nothing: what it exports is docs/BROWSER_JUDGE.md's interface. Built by the preset `wasm` alone.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "assay/browser/instance.h"
#include "assay/graph/program.h"
#include "assay/ops/table.h"
#include "assay/verdict/exit_status.h"
#include "assay/verdict/judged.h"

namespace assay {
namespace {

constexpr std::uint32_t kAbiVersion = 1;

// Tensors are counted in bytes by 32 bits here.
Status CheckAddresses(const dispute::Evidence& evidence) {
  const auto program = DecodeProgram(Ops(), evidence.program);
  if (!program) return {};  // the judge says what is wrong with it
  const auto check = [](const TensorType& type, std::int64_t times) -> Status {
    constexpr std::int64_t kMost = std::int64_t{1} << 32;
    if (type.elements() < kMost / static_cast<std::int64_t>(SizeOf(type.dtype)) / times) return {};
    return Err("the job has a tensor of 4 GB or more, {}: too large for a browser; assay judge decides it", ToString(type));
  };
  for (const Graph* graph : {&program->micro, &program->update}) {
    for (std::size_t value = 0; value < graph->values(); ++value) ASSAY_TRY(check(graph->type(static_cast<ValueId>(value)), 1));
  }
  // A batch has all microbatches.
  for (const NamedValue& input : program->micro.inputs()) {
    if (!input.name.starts_with("batch/")) continue;
    ASSAY_TRY(check(program->micro.type(input.value), std::max<std::int64_t>(1, program->microbatches)));
  }
  return {};
}

struct Options {
  verdict::Expected expected{.name = "evidence"};
  bool explain = true;
};

Result<Options> ReadOptions(std::string_view text) {
  Options options;
  if (text.empty()) return options;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Err("options: are not a JSON object");
  for (const auto& [key, value] : json.items()) {
    if (key == "name" && value.is_string()) {
      options.expected.name = value.get<std::string>();
    } else if (key == "explain" && value.is_boolean()) {
      options.explain = value.get<bool>();
    } else if (key == "job" && value.is_string()) {
      const auto job = Digest::FromHex(value.get<std::string>());
      if (!job) return Err("options: job is not the 64 hex digits of a job's id");
      options.expected.job = *job;
    } else if (key == "signers" && value.is_array()) {
      for (const auto& signer : value) {
        if (!signer.is_string()) return Err("options: a signer is not a string");
        ASSAY_ASSIGN(VerifyKey parsed, VerifyKey::Parse(signer.get<std::string>()));
        options.expected.signers.push_back(std::move(parsed));
      }
    } else {
      return Err("options: there is no '{}' of this type; name, job, signers and explain are known", key);
    }
  }
  return options;
}

struct Reply {
  int status = kExitBadInput;
  std::string json;
};

Result<Reply> Judge(ByteSpan bytes, std::string_view options_text) {
  ASSAY_ASSIGN(const Options options, ReadOptions(options_text));
  const std::string& name = options.expected.name;
  if (!verdict::LooksLikeEvidence(bytes)) return Err("{}: is not evidence, which assay dispute --evidence writes", name);
  ASSAY_ASSIGN(const dispute::Evidence evidence, verdict::ReadEvidence(bytes, name));
  if (const Status good = CheckAddresses(evidence); !good) return Err("{}: {}", name, good.error().message);
  ASSAY_ASSIGN(const verdict::Judged judged, verdict::Judge(evidence, options.expected));
  verdict::OrderedJson json = verdict::ToJson(judged, name);
  if (options.explain) verdict::AddExplanation(json, evidence, judged);
  return Reply{verdict::ExitStatusOf(judged), verdict::Dump(json)};
}

}  // namespace

}  // namespace assay

ASSAY_EXPORT(assay_abi) std::uint32_t assay_abi() { return assay::kAbiVersion; }

// The exit status that `assay judge` has, and the JSON that it prints.
ASSAY_EXPORT(assay_judge)
void* assay_judge(const std::uint8_t* evidence, std::uint32_t evidence_bytes, const char* options,
                  std::uint32_t options_bytes) {
  auto reply = assay::Judge({evidence, evidence_bytes}, {options, options_bytes});
  if (!reply) reply = assay::Reply{assay::kExitBadInput, assay::verdict::Dump({{"error", reply.error().message}})};
  return assay::browser::Handed(static_cast<std::uint32_t>(reply->status), reply->json);
}
