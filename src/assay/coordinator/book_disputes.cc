// The part of Book about disputes: whose they are, and how they end.
#include "assay/coordinator/blob_rights.h"
#include "assay/coordinator/blob_uses.h"
#include "assay/coordinator/book.h"

namespace assay::coordinator {

using life::LeaseNumber;
using store::Rows;
using store::Transaction;

Result<std::optional<OpenDispute>> Book::TakeDispute(const std::string& holder) {
  return database_.Write([&](Transaction& t) -> Result<std::optional<OpenDispute>> {
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT w.order_id, w.holder, w.beat FROM wants w WHERE w.kind = 'dispute' AND NOT EXISTS "
                       "(SELECT 1 FROM sealed_to s WHERE s.order_id = w.order_id) ORDER BY w.seq"));
    for (const store::Row& row : rows) {
      OpenDispute dispute;
      ASSAY_ASSIGN(dispute.order, row.Text(0));
      ASSAY_ASSIGN(const std::string other, row.Text(1));
      ASSAY_ASSIGN(const std::int64_t beat, row.Integer(2));
      const bool free = other.empty() || other == holder ||
                        disputes_.Still(dispute.order + other, beat, options_.clock->SteadyMs(), options_.lease_ms);
      if (!free) continue;
      ASSAY_TRY(t.Run("UPDATE wants SET holder = $2, beat = beat + 1 WHERE order_id = $1 AND kind = 'dispute'",
                      {dispute.order, holder}));
      ASSAY_ASSIGN(const auto written, chronicle_.Read(t, dispute.order));
      dispute.among = life::WantedBy(written->life).dispute;
      return std::optional<OpenDispute>(dispute);
    }
    return std::optional<OpenDispute>();
  });
}

Result<bool> Book::HoldDispute(const std::string& holder, const std::string& order) {
  return database_.Write([&](Transaction& t) -> Result<bool> {
    ASSAY_ASSIGN(
        const Rows rows,
        t.Run("UPDATE wants SET beat = beat + 1 WHERE order_id = $1 AND kind = 'dispute' AND holder = $2", {order, holder}));
    return rows.changed == 1;
  });
}

Status Book::DropDispute(const std::string& holder, const std::string& order) {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("UPDATE wants SET holder = '' WHERE order_id = $1 AND kind = 'dispute' AND holder = $2", {order, holder}));
    return {};
  });
}

Status Book::Judge(const std::string& holder, const std::string& order, life::Judged judged) {
  return Change(order, [&](Transaction& t) -> Status {
    ASSAY_ASSIGN(const bool said, chronicle_.Said(t, order, judged));
    if (said) return {};
    ASSAY_ASSIGN(const Rows rows,
                 t.Run("SELECT 1 FROM wants WHERE order_id = $1 AND kind = 'dispute' AND holder = $2 AND NOT EXISTS "
                       "(SELECT 1 FROM sealed_to s WHERE s.order_id = $1)",
                       {order, holder}));
    if (rows.empty()) return Err("order {}: the dispute is another's by now", order);
    return Enter(t, order, judged);
  });
}

Status Book::JudgeSealed(const std::string& account, const std::string& order, life::Judged judged) {
  return Change(order, [&](Transaction& t) -> Status {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT o.account FROM orders o WHERE o.id = $1 AND EXISTS "
                                        "(SELECT 1 FROM sealed_to s WHERE s.order_id = $1)",
                                        {order}));
    if (rows.empty()) return Err("order {}: is not sealed, and the coordinator is its referee", order);
    ASSAY_ASSIGN(const std::string owner, rows[0].Text(0));
    if (owner != account) return Err("order {}: is another account's", order);
    ASSAY_ASSIGN(const bool said, chronicle_.Said(t, order, judged));
    return said ? Status() : Enter(t, order, judged);
  });
}

Status Book::Enter(Transaction& t, const std::string& order, const life::Judged& judged) {
  ASSAY_ASSIGN(const auto before, chronicle_.Read(t, order));
  for (const LeaseNumber number : judged.convicted) {
    const life::Lease* lease = before->life.Find(number);
    if (lease == nullptr) return Err("order {}: there is no lease {}", order, number);
    ASSAY_ASSIGN(const std::string point, PointOf(lease->worker));
    ASSAY_TRY(t.Run("UPDATE workers SET evidence = $2 WHERE point = $1 AND evidence = ''",
                    {point, fmt::format("{}", fmt::join(judged.evidence, " "))}));
  }
  // Whoever has a part in the order may read what it was decided by.
  for (const std::string& name : judged.evidence) {
    ASSAY_ASSIGN(const Digest evidence, Digest::FromHex(name));
    ASSAY_TRY(NoteUse(t, order, evidence));
    ASSAY_ASSIGN(
        const Rows parts,
        t.Run("SELECT account FROM orders WHERE id = $1 UNION SELECT account FROM leases WHERE order_id = $1", {order}));
    for (const store::Row& row : parts) {
      ASSAY_ASSIGN(const std::string account, row.Text(0));
      ASSAY_TRY(BlobRights::Grant(t, account, evidence, 0, Now()));
    }
  }
  ASSAY_TRY(t.Run("DELETE FROM questions WHERE order_id = $1", {order}));
  return Happen(t, order, judged);  // a copy: the transaction may be tried again
}

}  // namespace assay::coordinator
