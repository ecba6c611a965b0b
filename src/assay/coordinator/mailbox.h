// Mailbox: questions of disputes on their way from a referee to the worker that brought a run, and the answers on their way back.
//
// They lie in a table, since the referee may be in one coordinator and the worker's poll at another. Who waits in this process is woken by a bell, others look
// every kLookMs. A question is named by what it asks (order, lease, kind and body): putting it twice is the same as once, and putting it again after its answer
// puts it to the worker anew. The first answer counts; others change nothing.
//
// A question is there until its asker drops it, its dispute is over, or somebody else holds the dispute (Sweep). Sizes and numbers are bounded. Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/coordinator/bell.h"
#include "assay/life/entry.h"
#include "assay/store/database.h"

namespace assay::coordinator {

struct PostedQuestion {
  std::string id{}, order{};
  life::LeaseNumber lease = 0;
  std::string kind{};
  Bytes body{};
};

struct PostedAnswer {
  std::string error{};  // empty: it is an answer (platform/posted_peer.h)
  Bytes body{};         // or the reason, as text
};

// A question as it lies there.
struct Posted {
  bool there = false;
  std::optional<PostedAnswer> answer{};
};

enum class Answered { kTaken, kNotAsked, kAnothers };  // kNotAsked: nobody waits for it any more, or it is answered

class Mailbox {
 public:
  static constexpr std::int64_t kLookMs = 200;
  static constexpr std::int64_t kMaxOpen = 64;       // questions of one order that wait for answers
  static constexpr std::int64_t kMaxAnswered = 64;   // and answers that were not dropped; the oldest have to be asked for again
  static constexpr std::int64_t kMaxHandedOut = 16;  // with one poll
  static constexpr std::string_view kClient = "client";  // who asks in a sealed order

  // Both must outlive it.
  Mailbox(store::Database& database, Bell& bell) : database_(database), bell_(bell) {}

  // The question's id. An error with `system` unset where the order has brought no such run, or where too many are open (`full` is then set).
  Result<std::string> Put(const std::string& asker, const PostedQuestion& question, bool* full = nullptr);
  Result<Posted> Look(const std::string& order, const std::string& id);
  Status Drop(const std::string& id);

  // Puts the question and waits for what comes, which is dropped then. Nothing came: after `wait_ms`, or once `ended` says so.
  Result<std::optional<PostedAnswer>> Ask(const std::string& asker, const PostedQuestion& question, std::int64_t wait_ms,
                                          const std::function<bool()>& ended);

  // What waits for this worker (chronicle.h, PointOf), oldest orders first.
  Result<std::vector<PostedQuestion>> For(const std::string& worker);
  // Who has something to answer.
  Result<std::vector<std::string>> Addressees();
  Result<Answered> Answer(const std::string& worker, const std::string& id, PostedAnswer answer);

  // Removes what nobody waits for. To be called every few seconds.
  Status Sweep();

 private:
  store::Database& database_;
  Bell& bell_;
};

// 32 hex digits.
std::string QuestionId(const PostedQuestion& question);

}  // namespace assay::coordinator
