#include "tools.h"

#include <algorithm>
#include <set>
#include <utility>

#include "assay/base/base64.h"
#include "assay/base/check.h"

namespace assay::attacks {
namespace {

constexpr std::uint64_t kMaxTextBytes = 1 << 16;
constexpr std::uint64_t kForeignSeed = 7919;
constexpr std::int64_t kEditedOneIn = 4;

class EditedDataset : public Dataset {
 public:
  EditedDataset(std::unique_ptr<Dataset> honest, std::int64_t first_step, SampleEdit edit)
      : honest_(std::move(honest)), first_step_(first_step), edit_(std::move(edit)) {}
  std::int64_t samples() const override { return honest_->samples(); }
  SampleFields fields() const override { return honest_->fields(); }
  std::string description() const override { return honest_->description(); }
  void Load(std::int64_t index, const DrawContext& context, std::int64_t row, std::span<Tensor> batch) const override {
    honest_->Load(index, context, row, batch);
    if (std::int64_t{context.step} + 1 >= first_step_ && index % kEditedOneIn == 0)
      edit_({*honest_, index, context, row, batch});
  }

 private:
  std::unique_ptr<Dataset> honest_;
  std::int64_t first_step_;
  SampleEdit edit_;
};

}  // namespace

State CopyOf(const State& state) {
  State copy;
  copy.reserve(state.size());
  for (const Tensor& tensor : state) copy.push_back(tensor.Clone());
  return copy;
}

std::vector<bool> IsModel(const PreparedJob& prepared) {
  std::set<std::string> names;
  for (const StateSpec& spec : ModelState(prepared.job.model)) names.insert(spec.name);
  std::vector<bool> is_model;
  for (const StateSpec& spec : prepared.program.state) is_model.push_back(names.contains(spec.name));
  return is_model;
}

void CopyModel(const PreparedJob& prepared, const State& from, State& to) {
  const std::vector<bool> is_model = IsModel(prepared);
  for (std::size_t t = 0; t < to.size(); ++t) {
    if (is_model[t]) to[t] = from[t].Clone();
  }
}

Result<State> ForeignModel(const Setting& setting) {
  Job job = setting.prepared.job;
  job.seed ^= kForeignSeed;
  ASSAY_ASSIGN(const PreparedJob prepared, Prepare(std::move(job), &setting.pool));
  ASSAY_ASSIGN(State state, StartingState(prepared));
  Stepper stepper(prepared, setting.backend);
  for (std::int64_t step = 0; step < prepared.job.steps; ++step) stepper.Run(state, stepper.Plan(step));
  return state;
}

SigningKey ForeignKey(const SigningKey& key) {
  ed25519::Seed seed{};
  seed.fill(0x5a);
  return SigningKey(key.verify_key().name(), seed);
}

std::unique_ptr<Dataset> EditEveryFourth(const Setting& setting, std::unique_ptr<Dataset> honest, SampleEdit edit) {
  return std::make_unique<EditedDataset>(std::move(honest), setting.at, std::move(edit));
}

std::size_t LabelField(const Dataset& dataset) {
  const SampleFields fields = dataset.fields();
  const auto found =
      std::ranges::find_if(fields, [](const auto& field) { return field.first == "labels" || field.first == "targets"; });
  ASSAY_CHECK(found != fields.end());
  return static_cast<std::size_t>(found - fields.begin());
}

std::int32_t LabelCount(const PreparedJob& prepared) {
  const DataShape& shape = prepared.data.shape;
  return static_cast<std::int32_t>(shape.classes > 0 ? shape.classes : shape.vocabulary);
}

Status AmendReceipt(const Setting& setting, const RunDirectory& run, const std::function<void(Receipt&)>& edit) {
  ASSAY_ASSIGN(const std::string file, ReadText(run.receipt_path()));
  ASSAY_ASSIGN(Receipt receipt, OpenReceipt(file, run.signer(), run.receipt_path()));
  edit(receipt);
  return WriteText(run.receipt_path(), SignReceipt(receipt, setting.key));
}

Result<std::string> ReadText(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxTextBytes));
  return std::string(bytes.begin(), bytes.end());
}

Status WriteText(const std::string& path, std::string_view text) { return WriteFileAtomic(path, AsBytes(text)); }

std::string FlipBit(std::string_view text, std::size_t begin, std::size_t end) {
  auto bytes = FromBase64(text.substr(begin, end - begin));
  ASSAY_CHECK(bytes.has_value() && !bytes->empty());
  (*bytes)[bytes->size() / 2] ^= 1;
  return fmt::format("{}{}{}", text.substr(0, begin), Base64(*bytes), text.substr(end));
}

}  // namespace assay::attacks
