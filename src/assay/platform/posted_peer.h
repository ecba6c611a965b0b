// PostedPeer: the worker that brought a run, as the referee of an order's dispute reaches it: by questions that the coordinator hands to it with its next poll
// (docs/formats/platform.md). The coordinator and the client of a sealed order put them there in different ways; what they ask, and what a refusal is worth, is
// the same.
//
// The receipt is the one of the order's life, so that nobody is waited for to hand it out. A worker of the platform names the order's referee and has no reason
// to refuse: one that does is treated like one that does not answer, so that nobody can leave an order undecided by refusing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "assay/dispute/arbitrate.h"

namespace assay::platform {

// What a question asks for, and the bounds of questions and answers.
inline constexpr std::string_view kReceiptQuestion = "receipt";
inline constexpr std::string_view kJobQuestion = "job";
inline constexpr std::string_view kProgramQuestion = "program";
inline constexpr std::string_view kOpenQuestion = "open";
inline constexpr std::string_view kAnswerQuestion = "answer";
bool IsQuestionKind(std::string_view kind);
inline constexpr std::size_t kMaxQuestionBody = 2'162'944 + 64;  // of an opening with its signature
inline constexpr std::size_t kMaxAnswerBody =
    (std::size_t{4} << 20) + (std::size_t{64} << 10);  // of a program; answers are shorter

// What a worker says instead of an answer: "later", "not_open", "denied" or "never".
bool IsQuestionError(std::string_view error);
dispute::PeerError ErrorOf(std::string_view error, std::string why);

// Encodings of the job, where they are at hand and need not be asked for.
struct JobEncodings {
  Bytes job, program;
};

class PostedPeer : public dispute::Peer {
 public:
  PostedPeer(std::string name, std::string receipt, std::optional<JobEncodings> encodings = {})
      : name_(std::move(name)), receipt_(std::move(receipt)), encodings_(std::move(encodings)) {}

  std::string name() const override { return name_; }
  dispute::FromPeer<std::string> Receipt(std::int64_t timeout_ms) override;
  dispute::FromPeer<Bytes> Job(std::int64_t timeout_ms) override;
  dispute::FromPeer<Bytes> Program(std::int64_t timeout_ms) override;
  dispute::FromPeer<void> Open(ByteSpan opening, std::int64_t timeout_ms) override;
  dispute::FromPeer<Bytes> Answer(ByteSpan question, std::int64_t timeout_ms) override;

 protected:
  // Puts the question and waits for the answer, no longer than `timeout_ms` and not after Cancel.
  virtual dispute::FromPeer<Bytes> Ask(std::string_view kind, ByteSpan body, std::int64_t timeout_ms) = 0;

 private:
  const std::string name_, receipt_;
  const std::optional<JobEncodings> encodings_;
};

}  // namespace assay::platform
