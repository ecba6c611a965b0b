// The one place that names the keys of a job file. A visitor walks over every key that applies to a job, with its value and range; the
// parser, the printer, the identity and the documentation's test are visitors, so they cannot disagree about the keys. Internal to job/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/job/job.h"

namespace assay::job {

struct FloatRange {
  float low = 0, high = 0;
  bool open_low = false, open_high = false;  // the bound itself is excluded

  bool Contains(double v) const { return (open_low ? v > low : v >= low) && (open_high ? v < high : v <= high); }
  std::string Text() const;    // "0 <= x < 1", "> 0"
  std::string Phrase() const;  // "a number x with 0 <= x < 1", "a number > 0"
};

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  // Whether it is about the encoding, in which every model has a kind of its own.
  virtual bool OfEncoding() const { return false; }
  // Keys that follow belong to [name]; the empty name is the top of the file.
  virtual void Section(std::string_view name) = 0;
  virtual void Int(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high) = 0;
  // An integer that is 0 until something else supplies it; `source` says what.
  virtual void Derived(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high,
                       std::string_view source) = 0;
  // An integer that few jobs have: 0 is as if the key did not exist, and cannot be written.
  virtual void Rare(std::string_view key, std::int64_t& value, std::int64_t low, std::int64_t high) = 0;
  virtual void Float(std::string_view key, float& value, FloatRange range) = 0;
  // A number that nearly all jobs have: those are encoded as if the key did not exist.
  virtual void RareFloat(std::string_view key, float& value, float usual, FloatRange range) = 0;
  virtual void Bool(std::string_view key, bool& value) = 0;
  // A truth value that few jobs have: false is encoded as if the key did not exist.
  virtual void RareBool(std::string_view key, bool& value) = 0;
  virtual void Text(std::string_view key, std::string& value) = 0;
  virtual void Path(std::string_view key, std::string& value) = 0;
  // 64 hex digits that few jobs have: none is as if the key did not exist.
  virtual void Hash(std::string_view key, std::optional<Digest>& value) = 0;
  virtual void Choice(std::string_view key, std::size_t& value, std::span<const std::string_view> names, bool required) = 0;
  virtual void Ints(std::string_view key, std::vector<std::int64_t>& value, std::int64_t low, std::int64_t high,
                    std::size_t most) = 0;
  // Numbers by the names of ops. An empty one is as if the key did not exist.
  virtual void OpNumbers(std::string_view key, std::map<std::string, float>& value, FloatRange range) = 0;
};

// The last one names a folder that says which of the others it is.
inline constexpr std::string_view kModelKinds[] = {"gpt2", "llama", "resnet", "mlp", "huggingface"};
inline constexpr std::size_t kFolderKind = 4;
inline constexpr std::span<const std::string_view> kEncodedModelKinds(kModelKinds, kFolderKind);
inline constexpr std::string_view kDataKinds[] = {"chars",    "bpe",      "tokens", "cifar10", "images",
                                                  "features", "cifar100", "arrays", "packed"};
inline constexpr std::string_view kLayouts[] = {"flat", "nhwc", "nchw"};
inline constexpr std::string_view kCifarLabels[] = {"fine", "coarse"};
inline constexpr std::string_view kOptimizerKinds[] = {"sgd", "adam", "adamw"};
inline constexpr std::string_view kScheduleKinds[] = {"constant", "warmup_cosine", "step"};
inline constexpr std::string_view kPrecisions[] = {"fp32", "fp64-rounded", "fp32-vendor", "int8x3", "int8x2"};
inline constexpr std::string_view kRoundRules[] = {"bound", "paper"};

// What a job's encoding begins with.
inline constexpr std::string_view kMagic = "assayjob";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::string_view kOrderRule = "feistel-1";
// Whether a key is part of the job's identity.
bool Identifies(std::string_view section, std::string_view key);

// The starting point for a job file: like the defaults of the structs, except that derived extents are 0.
void SetModelKind(Job& job, std::size_t kind);
DataConfig BlankData(DataKind kind);
Job BlankJob();

// Whether a job trains on tokens.
bool IsLanguage(const ModelConfig& model);

// Visits the keys of `job`. Where a visitor changes the kind of the model or of the data, the other keys start from that kind's defaults.
void Visit(FieldVisitor& v, Job& job);

}  // namespace assay::job
