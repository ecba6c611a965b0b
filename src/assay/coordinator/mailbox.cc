#include "assay/coordinator/mailbox.h"

#include <algorithm>
#include <chrono>

#include "assay/platform/posted_peer.h"

namespace assay::coordinator {

using store::Rows;
using store::Transaction;

namespace {

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<std::int64_t> Count(Transaction& t, const std::string& order, std::int64_t open) {
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT COUNT(*) FROM questions WHERE order_id = $1 AND open = $2", {order, open}));
  return rows[0].Integer(0);
}

}  // namespace

std::string QuestionId(const PostedQuestion& question) {
  ByteWriter bytes;
  bytes.String("assay/posted/1");
  bytes.String(question.order);
  bytes.I64(question.lease);
  bytes.String(question.kind);
  bytes.Blob(question.body);
  return HashBytes(bytes.bytes()).hex().substr(0, 32);
}

Result<std::string> Mailbox::Put(const std::string& asker, const PostedQuestion& question, bool* full) {
  if (!platform::IsQuestionKind(question.kind)) return Err("a question's kind is not one that workers answer");
  if (question.body.size() > platform::kMaxQuestionBody)
    return Err("a question has {} bytes, at most {} are allowed", question.body.size(), platform::kMaxQuestionBody);
  const std::string id = QuestionId(question);
  const Status put = database_.Write([&](Transaction& t) -> Status {
    if (full != nullptr) *full = false;
    ASSAY_ASSIGN(const Rows leases,
                 t.Run("SELECT worker FROM leases WHERE order_id = $1 AND number = $2", {question.order, question.lease}));
    if (leases.empty()) return Err("order {}: there is no lease {}", question.order, question.lease);
    ASSAY_ASSIGN(const std::string worker, leases[0].Text(0));
    ASSAY_ASSIGN(const Rows before, t.Run("SELECT open FROM questions WHERE id = $1", {id}));
    if (!before.empty()) {
      // What is open stays as it is; what was answered is asked again, by whoever asks now.
      ASSAY_TRY(
          t.Run("UPDATE questions SET asker = $2, open = 1, error = '', answer = $3 WHERE id = $1", {id, asker, Bytes{}}));
      return {};
    }
    ASSAY_ASSIGN(const std::int64_t open, Count(t, question.order, 1));
    if (open >= kMaxOpen) {
      if (full != nullptr) *full = true;
      return Err("order {}: {} questions are open, no more are taken", question.order, open);
    }
    ASSAY_ASSIGN(const std::int64_t answered, Count(t, question.order, 0));
    if (answered >= kMaxAnswered) ASSAY_TRY(t.Run("DELETE FROM questions WHERE order_id = $1 AND open = 0", {question.order}));
    ASSAY_TRY(
        t.Run("INSERT INTO questions (id, order_id, lease, worker, asker, kind, body, open, error, answer) "
              "VALUES ($1, $2, $3, $4, $5, $6, $7, 1, '', $8)",
              {id, question.order, question.lease, worker, asker, question.kind, question.body, Bytes{}}));
    return {};
  });
  if (!put) return tl::unexpected(put.error());
  bell_.Ring();
  return id;
}

Result<Posted> Mailbox::Look(const std::string& order, const std::string& id) {
  return database_.Read([&](Transaction& t) -> Result<Posted> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT open, error, answer FROM questions WHERE id = $1 AND order_id = $2", {id, order}));
    if (rows.empty()) return Posted{};
    ASSAY_ASSIGN(const std::int64_t open, rows[0].Integer(0));
    Posted posted{.there = true};
    if (open == 1) return posted;
    PostedAnswer answer;
    ASSAY_ASSIGN(answer.error, rows[0].Text(1));
    ASSAY_ASSIGN(answer.body, rows[0].Blob(2));
    posted.answer = std::move(answer);
    return posted;
  });
}

Status Mailbox::Drop(const std::string& id) {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("DELETE FROM questions WHERE id = $1", {id}));
    return {};
  });
}

Result<std::optional<PostedAnswer>> Mailbox::Ask(const std::string& asker, const PostedQuestion& question, std::int64_t wait_ms,
                                                 const std::function<bool()>& ended) {
  const std::int64_t until = NowMs() + wait_ms;
  ASSAY_ASSIGN(const std::string id, Put(asker, question));
  std::optional<PostedAnswer> answer;
  Result<Posted> looked = Posted{};
  while (!ended()) {
    const std::uint64_t heard = bell_.count();
    looked = Look(question.order, id);
    // A database that cannot be reached for a moment is looked at again; a question that is gone was swept away because the dispute is another's.
    if (looked && (!looked->there || looked->answer)) break;
    const std::int64_t left = until - NowMs();
    if (left <= 0) break;
    bell_.WaitAfter(heard, std::min(left, kLookMs));
  }
  // What could not be dropped is swept away later.
  static_cast<void>(Drop(id));
  if (!looked) return tl::unexpected(looked.error());
  if (looked->answer) answer = std::move(looked->answer);
  return answer;
}

Result<std::vector<PostedQuestion>> Mailbox::For(const std::string& worker) {
  return database_.Read([&](Transaction& t) -> Result<std::vector<PostedQuestion>> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT id, order_id, lease, kind, body FROM questions WHERE open = 1 AND worker = $1 "
                                        "ORDER BY order_id, lease, id LIMIT $2",
                                        {worker, kMaxHandedOut}));
    std::vector<PostedQuestion> questions;
    for (const store::Row& row : rows) {
      PostedQuestion question;
      ASSAY_ASSIGN(question.id, row.Text(0));
      ASSAY_ASSIGN(question.order, row.Text(1));
      ASSAY_ASSIGN(question.lease, row.Integer(2));
      ASSAY_ASSIGN(question.kind, row.Text(3));
      ASSAY_ASSIGN(question.body, row.Blob(4));
      questions.push_back(std::move(question));
    }
    return questions;
  });
}

Result<std::vector<std::string>> Mailbox::Addressees() {
  return database_.Read([&](Transaction& t) -> Result<std::vector<std::string>> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT DISTINCT worker FROM questions WHERE open = 1"));
    std::vector<std::string> workers;
    for (const store::Row& row : rows) {
      ASSAY_ASSIGN(std::string worker, row.Text(0));
      workers.push_back(std::move(worker));
    }
    return workers;
  });
}

Result<Answered> Mailbox::Answer(const std::string& worker, const std::string& id, PostedAnswer answer) {
  auto done = database_.Write([&](Transaction& t) -> Result<Answered> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT worker, open FROM questions WHERE id = $1", {id}));
    if (rows.empty()) return Answered::kNotAsked;
    ASSAY_ASSIGN(const std::string asked, rows[0].Text(0));
    ASSAY_ASSIGN(const std::int64_t open, rows[0].Integer(1));
    if (asked != worker) return Answered::kAnothers;
    if (open == 0) return Answered::kNotAsked;
    ASSAY_TRY(t.Run("UPDATE questions SET open = 0, error = $2, answer = $3 WHERE id = $1", {id, answer.error, answer.body}));
    return Answered::kTaken;
  });
  bell_.Ring();
  return done;
}

Status Mailbox::Sweep() {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(
        t.Run("DELETE FROM questions WHERE NOT EXISTS (SELECT 1 FROM wants w WHERE w.order_id = questions.order_id AND "
              "w.kind = 'dispute' AND (w.holder = questions.asker OR questions.asker = 'client'))"));
    return {};
  });
}

}  // namespace assay::coordinator
