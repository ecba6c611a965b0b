// The toy job as a stage. Not synchronised.
#pragma once

#include <memory>
#include <vector>

#include "stage.h"
#include "toy.h"

namespace assay::dispute {

class ToyStage : public Stage {
 public:
  // The first run is the honest one.
  ToyStage(const toy::Shape& shape, std::vector<std::unique_ptr<const toy::Run>> runs);

  std::int64_t steps() const override { return shape_.steps; }
  std::int64_t every() const override { return shape_.every; }
  Budget bout() const override;
  std::shared_ptr<const Law> LawFor(const LawOptions& options) const override;
  Evidence EvidenceOf(const LawOptions& options, const std::vector<std::string>& receipts, const Record& record) const override;
  Result<Judgement> Judged(const Evidence& evidence) const override;
  std::size_t runs() const override { return runs_.size(); }
  Result<Bytes> Answer(std::size_t run, const Question& question) const override { return runs_[run]->Answer(question); }
  Question AnyQuestion(Dice& dice) const override;
  KeyPoint PointOf(Key key) const override { return toy::KeyOf(key).point(); }
  std::string ReceiptOf(std::size_t run, Key key, std::uint32_t note) const override {
    return toy::ReceiptOf(*runs_[run], key, note);
  }
  bool IsReceipt(const std::string& receipt) const override { return toy::OpenReceipt(receipt).has_value(); }
  Claim Opened(const std::string& receipt) const override { return *toy::OpenReceipt(receipt); }
  Signature SignAnswer(ByteSpan question, ByteSpan body, Key key) const override {
    return toy::Sign(HashBytes(question), body, toy::KeyOf(key));
  }
  Signature SignQuestion(ByteSpan question, const Digest& receipt, Key referee) const override;
  Signature SignOpening(ByteSpan opening, Key referee) const override {
    return toy::SignAs("opened", opening, PointOf(referee));
  }
  Docket DocketOf(const std::string& receipt, const Docket::Options& options) const override;

 private:
  toy::Shape shape_;
  std::vector<std::unique_ptr<const toy::Run>> runs_;
};

}  // namespace assay::dispute
