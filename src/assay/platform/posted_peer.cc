#include "assay/platform/posted_peer.h"

#include <algorithm>
#include <array>

#include "assay/base/quote.h"

namespace assay::platform {
namespace {

using dispute::FromPeer;
using dispute::PeerError;

constexpr std::array kKinds = {kReceiptQuestion, kJobQuestion, kProgramQuestion, kOpenQuestion, kAnswerQuestion};
constexpr std::array<std::string_view, 4> kErrors = {"later", "not_open", "denied", "never"};
constexpr std::int64_t kRefusedMs = 2'000;  // for which a worker that refuses is left alone

}  // namespace

bool IsQuestionKind(std::string_view kind) { return std::ranges::find(kKinds, kind) != kKinds.end(); }
bool IsQuestionError(std::string_view error) { return std::ranges::find(kErrors, error) != kErrors.end(); }

PeerError ErrorOf(std::string_view error, std::string why) {
  std::string words = OneLine(why);
  words.resize(std::min<std::size_t>(words.size(), 200));
  if (error == "not_open") return {PeerError::Kind::kNotOpen, std::move(words)};
  const bool refused = error != "later";
  return {PeerError::Kind::kLater, refused ? fmt::format("refuses to answer: {}", words) : std::move(words),
          refused ? kRefusedMs : 0};
}

FromPeer<std::string> PostedPeer::Receipt(std::int64_t) { return receipt_; }

FromPeer<Bytes> PostedPeer::Job(std::int64_t timeout_ms) {
  if (encodings_) return encodings_->job;
  return Ask(kJobQuestion, {}, timeout_ms);
}

FromPeer<Bytes> PostedPeer::Program(std::int64_t timeout_ms) {
  if (encodings_) return encodings_->program;
  return Ask(kProgramQuestion, {}, timeout_ms);
}

FromPeer<void> PostedPeer::Open(ByteSpan opening, std::int64_t timeout_ms) {
  const FromPeer<Bytes> opened = Ask(kOpenQuestion, opening, timeout_ms);
  if (!opened) return tl::unexpected(opened.error());
  return {};
}

FromPeer<Bytes> PostedPeer::Answer(ByteSpan question, std::int64_t timeout_ms) {
  return Ask(kAnswerQuestion, question, timeout_ms);
}

}  // namespace assay::platform
