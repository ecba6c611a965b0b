// Stage: the job that a simulated dispute is played over, with everything that anybody in it can do: runs that can be told of, keys that can sign, evidence that can be judged. So one
// world serves the toy job and real ones. Runs and keys are numbers; run 0 is what the job gives.
//
// Whoever plays a liar signs with the keys that are its own; nothing here stops it from taking another's. Not synchronised.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/dispute/docket.h"
#include "assay/dispute/evidence.h"
#include "assay/dispute/law.h"
#include "dice.h"

namespace assay::dispute {

using Key = std::uint32_t;
inline constexpr Key kReferee = 0;         // the true one
inline constexpr Key kSecondReferee = 1;   // whom the honest may have named too
inline constexpr Key kHostileReferee = 2;  // and those whom they have not
inline constexpr Key kHostileReferees = 2;
inline constexpr Key kFirstParty = kHostileReferee + kHostileReferees;
inline constexpr Key kKeys = 64;

class Stage {
 public:
  virtual ~Stage() = default;

  // How answering is paid for: the steps of the job, and of an interval of its log and of its snapshots; what one bout takes.
  virtual std::int64_t steps() const = 0;
  virtual std::int64_t every() const = 0;
  virtual Budget bout() const = 0;

  virtual std::shared_ptr<const Law> LawFor(const LawOptions& options) const = 0;
  // With the receipts of everybody whom the record is about.
  virtual Evidence EvidenceOf(const LawOptions& options, const std::vector<std::string>& receipts,
                              const Record& record) const = 0;
  virtual Result<Judgement> Judged(const Evidence& evidence) const = 0;

  virtual std::size_t runs() const = 0;
  virtual Result<Bytes> Answer(std::size_t run, const Question& question) const = 0;
  virtual Question AnyQuestion(Dice& dice) const = 0;  // that an honest run may have an answer to

  virtual KeyPoint PointOf(Key key) const = 0;
  // `note`: what a receipt says beside what it promises.
  virtual std::string ReceiptOf(std::size_t run, Key key, std::uint32_t note = 0) const = 0;
  virtual bool IsReceipt(const std::string& receipt) const = 0;  // of one of these keys and of nothing that it did not sign
  virtual Claim Opened(const std::string& receipt) const = 0;    // if it is one
  virtual Signature SignAnswer(ByteSpan question, ByteSpan body, Key key) const = 0;
  // For the one whose receipt has this hash.
  virtual Signature SignQuestion(ByteSpan question, const Digest& receipt, Key referee) const = 0;
  virtual Signature SignOpening(ByteSpan opening, Key referee) const = 0;
  virtual Docket DocketOf(const std::string& receipt, const Docket::Options& options) const = 0;
};

}  // namespace assay::dispute
