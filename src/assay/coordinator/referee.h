// Referee: the threads of a coordinator that hold the disputes of orders which are not sealed.
//
// A thread takes a dispute (Book::TakeDispute), plays it by the law (dispute::Arbitrate) with workers that it reaches through the mailbox, stores the evidence as a
// blob and says in the order's life how it ended. It decides nothing itself. The coordinator's key signs the questions. While it plays, it gives signs of life; a
// coordinator that falls silent loses the dispute to another, which plays it anew under another nonce: what workers have signed in the first harms nobody in the
// second. A dispute that was lost to another, or given up because the process ends, leaves no trace.
//
// Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "assay/coordinator/book.h"
#include "assay/coordinator/mailbox.h"
#include "assay/dispute/game.h"
#include "assay/platform/posted_peer.h"
#include "assay/store/blobs.h"

namespace assay::coordinator {

struct RefereeOptions {
  int threads = 2;                                     // disputes at a time; each has a thread for every party besides
  dispute::Clocks clocks{};                            // that workers have for their answers
  std::int64_t beat_ms = 5'000;                        // between signs of life; well below a lease's time
  std::int64_t look_ms = 1'000;                        // between looks for disputes where no bell rings
  std::function<void(const std::string& line)> log{};  // for operators: what was taken, how it ended, what failed
};

class Referee {
 public:
  // All must outlive it. `key` is the coordinator's.
  Referee(Book& book, Mailbox& mailbox, store::Blobs& blobs, Bell& bell, const SigningKey& key, RefereeOptions options);
  ~Referee();  // gives up what is under way; whoever comes next takes it at once
  Referee(const Referee&) = delete;
  Referee& operator=(const Referee&) = delete;

 private:
  void Work(const std::string& holder);
  // Plays one dispute to its end, or until it has `ended` otherwise.
  Status Hold(const std::string& holder, const OpenDispute& dispute, const std::function<bool()>& ended);
  Result<life::Judged> Play(const std::string& holder, const OpenDispute& dispute, const Written& written,
                            const std::function<bool()>& ended);
  std::optional<platform::JobEncodings> EncodingsOf(const std::string& order, life::LeaseNumber lease, const Digest& job);
  Status Store(const Bytes& evidence);
  void Log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  Book& book_;
  Mailbox& mailbox_;
  store::Blobs& blobs_;
  Bell& bell_;
  const SigningKey& key_;
  const RefereeOptions options_;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay::coordinator
