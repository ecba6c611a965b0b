// A small real job as a stage: runs kept in memory, the real law, real signatures. Runs take longer to make than to dispute, so a stage is made once and used for many disputes. Not
// synchronised.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memory_run.h"
#include "stage.h"

namespace assay::dispute {

class RealStage : public Stage {
 public:
  // Of a job file. The runs are the honest one, one for each sort of lie, and stories: of how the steps of an interval led to the same false state.
  explicit RealStage(const std::string& job);

  std::int64_t steps() const override { return terms_->job().steps; }
  std::int64_t every() const override { return terms_->job().commit_every; }
  Budget bout() const override;
  std::shared_ptr<const Law> LawFor(const LawOptions& options) const override;
  Evidence EvidenceOf(const LawOptions& options, const std::vector<std::string>& receipts, const Record& record) const override;
  Result<Judgement> Judged(const Evidence& evidence) const override;
  std::size_t runs() const override { return runs_.size(); }
  Result<Bytes> Answer(std::size_t run, const Question& question) const override { return runs_[run]->Answer(question); }
  Question AnyQuestion(Dice& dice) const override;
  KeyPoint PointOf(Key key) const override { return keys_[key].verify_key().point(); }
  std::string ReceiptOf(std::size_t run, Key key, std::uint32_t note) const override;
  bool IsReceipt(const std::string& receipt) const override { return Read(receipt).has_value(); }
  Claim Opened(const std::string& receipt) const override { return *Read(receipt); }
  Signature SignAnswer(ByteSpan question, ByteSpan body, Key key) const override;
  Signature SignQuestion(ByteSpan question, const Digest& receipt, Key referee) const override;
  Signature SignOpening(ByteSpan opening, Key referee) const override;
  Docket DocketOf(const std::string& receipt, const Docket::Options& options) const override;

 private:
  void Make(Lies lies);
  void MakeLies();
  void MakeStories();
  const Result<Claim>& Read(const std::string& receipt) const;

  PreparedJob prepared_;
  std::vector<SigningKey> keys_;
  std::vector<std::unique_ptr<MemoryRun>> runs_;
  std::shared_ptr<const Terms> terms_;
  mutable std::map<std::tuple<std::size_t, Key, std::uint32_t>, std::string> receipts_;
  mutable std::map<std::string, Result<Claim>> read_;  // what was read of late
  mutable std::size_t judged_ = 0;
};

}  // namespace assay::dispute
