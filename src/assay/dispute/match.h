// Match: two groups meet, until one of them has no voice left or the law cannot decide between them.
//
// Two voices meet in a bout, and a finding strikes one voice alone. Before the first question inside an interval, groups that have the same entries around it are let join
// either side: they fall or stand with it. A pure state machine over what its floor holds; value type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/dispute/batch.h"
#include "assay/dispute/correspondence.h"
#include "assay/dispute/law.h"
#include "assay/dispute/ledger.h"
#include "assay/dispute/side.h"

namespace assay::dispute {

// What all matches of a game share.
struct Floor {
  const Law& law;
  const std::vector<Claim>& claims;
  Ledger& ledger;
  Correspondence& mail;
};

class Match {
 public:
  Match(std::uint32_t first, std::uint32_t second, const Ledger& ledger);

  // Goes on until something has to be waited for. True: it is over.
  bool Run(Floor& floor);
  // Withdraws what is open.
  MatchRecord End(Floor& floor);

  void OnAnswer(ProviderId provider, const Digest& question, std::size_t bytes, Correspondence& mail);
  void Hurry(ProviderId provider, std::int64_t now_ms) { batch_.Hurry(provider, now_ms); }
  // `provider` stands, and falls by this charge.
  void Fall(Floor& floor, ProviderId provider, Standing standing, std::string why, std::optional<std::size_t> charge);

  const Progress& progress() const { return progress_; }
  std::optional<std::int64_t> WakeAt() const { return batch_.WakeAt(); }
  const MatchRecord& record() const { return record_; }
  void Dump(const Ledger& ledger, const Correspondence& mail, ByteWriter& out) const;

 private:
  // match.cc: bouts and questions.
  void BeginBout(Correspondence& mail);
  void Consult(Floor& floor);
  void Put(Floor& floor, const std::vector<Ask>& asks);
  void Add(Floor& floor, std::optional<Party> side, std::uint32_t group, const Question& question,
           std::vector<ProviderId> candidates);
  void Open(Floor& floor);
  void CloseBatch(Floor& floor);
  void Hear(Floor& floor, Party party, const std::vector<Pending>& batch);
  void Draw(Undecided why);

  // match_guests.cc: groups that join.
  bool Invite(Floor& floor, const std::vector<Ask>& asks);
  void CloseInvitation(Floor& floor, const std::vector<Pending>& batch);
  void Seat(const Ledger& ledger);

  // match_findings.cc: what a finding does.
  void Decide(Floor& floor, const Finding& finding);
  std::vector<ProviderId> GuiltyOf(const Floor& floor, const Side& side, const Finding& finding) const;
  void Transcribe(Floor& floor, Trial& trial, std::size_t side) const;
  void Share(Floor& floor, Trial& trial, std::uint32_t group, std::uint32_t guest) const;
  void Strike(Floor& floor, Trial trial);
  DrawnMatch TranscribeDraw(const Floor& floor) const;

  Side sides_[2];
  bool drawn_ = false;
  std::uint64_t voices_[2] = {};  // of the bout; 0: none has begun
  Batch batch_;
  bool invited_ = false;                                                   // groups with the same entries have been let join
  LeavesQuestion invitation_;                                              // for the entries
  std::map<std::uint32_t, std::pair<Spoken, std::vector<Bytes>>> leaves_;  // by group: who showed them, and what they are
  bool deciding_ = false;
  Progress progress_;
  MatchRecord record_;
};

}  // namespace assay::dispute
