#include "assay/data/batch_root.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "assay/base/check.h"

namespace assay {
namespace {

// Lengthens `whole` by the rows of `more`.
void Join(TensorType& whole, const TensorType& more) {
  TensorType same = more;
  same.shape.Set(0, whole.shape[0]);
  ASSAY_CHECK(whole == same);
  whole.shape.Set(0, whole.shape[0] + more.shape[0]);
}

}  // namespace

BatchRootBuilder::BatchRootBuilder(std::vector<std::string> names) : fields_(names.size()), by_name_(names.size()) {
  for (std::size_t i = 0; i < names.size(); ++i) fields_[i].name = std::move(names[i]);
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [this](std::size_t a, std::size_t b) { return fields_[a].name < fields_[b].name; });
}

void BatchRootBuilder::Add(std::span<const Tensor> fields) {
  ASSAY_CHECK(fields.size() == fields_.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    ASSAY_CHECK(fields[i].shape().rank() >= 1);
    if (begun_) {
      Join(fields_[i].type, fields[i].type());
    } else {
      fields_[i].type = fields[i].type();
    }
    fields_[i].hasher.Update(fields[i].bytes());
  }
  begun_ = true;
}

Digest BatchRootBuilder::Finish() {
  ASSAY_CHECK(std::exchange(begun_, false));
  std::vector<TensorEntry> entries;
  for (std::size_t i : by_name_) entries.push_back({fields_[i].name, fields_[i].type, fields_[i].hasher.Finish()});
  return EntriesRoot(kBatchTag, entries);
}

Digest BatchRoot(std::vector<std::string> names, std::span<const Tensor> fields) {
  BatchRootBuilder builder(std::move(names));
  builder.Add(fields);
  return builder.Finish();
}

}  // namespace assay
