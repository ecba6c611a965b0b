#include "desk.h"

#include <algorithm>
#include <utility>

#include "assay/dispute/scope.h"

namespace assay::dispute {

Desk::Desk(const Stage& stage, Key key, std::string receipt, Docket::Options options)
    : stage_(stage), key_(key), receipt_(std::move(receipt)), options_(std::move(options)) {
  Restart();
}

void Desk::Restart() {
  docket_.emplace(stage_.DocketOf(receipt_, options_));
  meter_.emplace(stage_.steps(), stage_.every());
  fees_.emplace([&stage = stage_] { return std::optional<Meter>(std::in_place, stage.steps(), stage.every()); });
  answers_.clear();
  spent_.clear();
}

tl::expected<Digest, Denied> Desk::Open(ByteSpan opening) {
  const auto message = DecodeOpening(opening);
  if (!message) return tl::unexpected(Denied{Denial::kForbidden, message.error().message});
  const auto opened = docket_->Open(*message);
  if (!opened) return tl::unexpected(opened.error());
  return opened->id;
}

tl::expected<Answer, Denied> Desk::Ask(ByteSpan question, const Signature& signature) {
  const auto addressed = DecodeQuestion(question);
  if (!addressed) return tl::unexpected(Denied{Denial::kForbidden, addressed.error().message});
  const bool free = IsAboutReceipt(addressed->question);
  const auto admitted = docket_->Admit(addressed->dispute, question, signature, free);
  if (!admitted && admitted.error().denial != Denial::kSpent) return tl::unexpected(admitted.error());
  const Digest hash = HashBytes(question);
  if (const auto known = answers_.find(hash); known != answers_.end()) return known->second;
  if (!admitted) return tl::unexpected(admitted.error());
  const Work before = meter_->work();
  meter_->Answer(addressed->question);
  Result<Bytes> body = stage_.Answer(0, addressed->question);
  const Work done = Since(before, meter_->work());
  const Budget charge = fees_->For(addressed->dispute, addressed->question, body ? body->size() : 0, done);
  docket_->Charge(addressed->dispute, charge);
  const Budget cost{.work = done, .bytes = charge.bytes};
  Budget& spent = spent_[addressed->dispute];
  Budget& most = most_[addressed->dispute];
  spent = spent + cost;
  most.work.steps_run = std::max(most.work.steps_run, spent.work.steps_run);
  most.work.steps_traced = std::max(most.work.steps_traced, spent.work.steps_traced);
  most.work.batches_loaded = std::max(most.work.batches_loaded, spent.work.batches_loaded);
  most.bytes = std::max(most.bytes, spent.bytes);
  if (!body) return tl::unexpected(Denied{Denial::kForbidden, body.error().message});
  Answer answer{.body = std::move(*body), .signature = {}};
  answer.signature = stage_.SignAnswer(question, answer.body, key_);
  return answers_.emplace(hash, std::move(answer)).first->second;
}

Budget Desk::spent(const Digest& dispute) const {
  const auto found = most_.find(dispute);
  return found == most_.end() ? Budget{} : found->second;
}

}  // namespace assay::dispute
