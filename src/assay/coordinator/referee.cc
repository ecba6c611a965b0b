#include "assay/coordinator/referee.h"

#include <sys/random.h>

#include <algorithm>

#include "assay/base/quote.h"
#include "assay/coordinator/run_check.h"
#include "assay/dispute/arbitrate.h"
#include "assay/job/limits.h"
#include "assay/platform/outcome.h"

namespace assay::coordinator {
namespace {

constexpr std::string_view kOwner = "referee";  // of the evidence's upload

Digest Random() {
  Digest bytes;
  std::size_t have = 0;
  while (have < bytes.bytes.size()) {
    const ssize_t got = ::getrandom(bytes.bytes.data() + have, bytes.bytes.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  return bytes;
}

// Whether whoever plays has lost the dispute, or has to stop.
using Ended = std::function<bool()>;

// The worker of one lease, through the mailbox.
class MailPeer final : public platform::PostedPeer {
 public:
  MailPeer(Mailbox& mailbox, std::string asker, std::string order, const life::Lease& lease,
           std::optional<platform::JobEncodings> encodings, const Ended& ended)
      : PostedPeer(fmt::format("lease {} ({})", lease.number, lease.worker.substr(0, lease.worker.find('+'))),
                   lease.receipt_file, std::move(encodings)),
        mailbox_(mailbox),
        asker_(std::move(asker)),
        order_(std::move(order)),
        lease_(lease.number),
        ended_(ended) {}

  void Cancel() override { cancelled_ = true; }

 protected:
  dispute::FromPeer<Bytes> Ask(std::string_view kind, ByteSpan body, std::int64_t timeout_ms) override {
    const PostedQuestion question{
        .order = order_, .lease = lease_, .kind = std::string(kind), .body = Bytes(body.begin(), body.end())};
    auto answer = mailbox_.Ask(asker_, question, timeout_ms, [&] { return cancelled_ || ended_(); });
    using Kind = dispute::PeerError::Kind;
    // Final, so that nothing waits for it; what is said of it then is thrown away.
    if (ended_()) return tl::unexpected(dispute::PeerError{Kind::kNever, "the dispute is another coordinator's"});
    if (!answer) return tl::unexpected(dispute::PeerError{Kind::kLater, answer.error().message});
    if (!*answer) return tl::unexpected(dispute::PeerError{Kind::kLater, "no answer yet"});
    PostedAnswer& said = **answer;
    if (said.error.empty()) return std::move(said.body);
    return tl::unexpected(platform::ErrorOf(said.error, std::string(said.body.begin(), said.body.end())));
  }

 private:
  Mailbox& mailbox_;
  const std::string asker_, order_;
  const life::LeaseNumber lease_;
  const Ended ended_;
  std::atomic<bool> cancelled_ = false;
};

// Signs of life while a dispute is played, on a thread of their own.
class Pulse {
 public:
  Pulse(std::function<bool()> beat, std::int64_t every_ms)
      : thread_([this, beat = std::move(beat), every_ms] {
          std::uint64_t heard = bell_.count();
          while (!bell_.WaitAfter(heard, every_ms) && beat()) {
          }
        }) {}
  ~Pulse() {
    bell_.Ring();
    thread_.join();
  }

 private:
  Bell bell_;
  std::thread thread_;
};

}  // namespace

Referee::Referee(Book& book, Mailbox& mailbox, store::Blobs& blobs, Bell& bell, const SigningKey& key, RefereeOptions options)
    : book_(book), mailbox_(mailbox), blobs_(blobs), bell_(bell), key_(key), options_(std::move(options)) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(Random().hex().substr(0, 32)); });
}

Referee::~Referee() {
  stopping_ = true;
  bell_.Ring();
  for (std::thread& thread : threads_) thread.join();
}

void Referee::Work(const std::string& holder) {
  while (!stopping_) {
    const std::uint64_t heard = bell_.count();
    const auto taken = book_.TakeDispute(holder);
    if (!taken) Log(fmt::format("looking for disputes: {}", taken.error().message));
    if (!taken || !*taken) {
      bell_.WaitAfter(heard, options_.look_ms);
      continue;
    }
    const OpenDispute& dispute = **taken;
    std::atomic<bool> lost = false;
    const auto ended = [&] { return lost || stopping_; };
    Status held;
    {
      const Pulse pulse(
          [&] {
            // Whoever cannot be sure that a dispute is still its own goes on: at the end the book has the last word.
            const auto mine = book_.HoldDispute(holder, dispute.order);
            if (mine && !*mine) lost = true;
            return !lost;
          },
          options_.beat_ms);
      held = Hold(holder, dispute, ended);
    }
    if (!held) Log(fmt::format("order {}: dispute: {}", dispute.order, held.error().message));
    if (!held || ended()) {
      // Left to whoever takes it next, this process included, a little later.
      static_cast<void>(book_.DropDispute(holder, dispute.order));
      bell_.WaitAfter(bell_.count(), options_.look_ms);
    }
  }
}

Status Referee::Hold(const std::string& holder, const OpenDispute& dispute, const std::function<bool()>& ended) {
  ASSAY_ASSIGN(const auto written, book_.Look(dispute.order));
  Log(fmt::format("order {}: dispute among leases {} taken", dispute.order, fmt::join(dispute.among, ", ")));
  ASSAY_ASSIGN(const life::Judged judged, Play(holder, dispute, *written, ended));
  if (ended()) return {};
  ASSAY_TRY(book_.Judge(holder, dispute.order, judged));
  Log(fmt::format("order {}: dispute {}; convicted {}, silent {}; {}", dispute.order, judged.decided ? "decided" : "undecided",
                  fmt::join(judged.convicted, ","), fmt::join(judged.silent, ","), OneLine(judged.words)));
  return {};
}

Result<life::Judged> Referee::Play(const std::string& holder, const OpenDispute& dispute, const Written& written,
                                   const std::function<bool()>& ended) {
  const life::Life& life = written.life;
  dispute::ArbitrateOptions how{.clocks = options_.clocks, .key = &key_, .job = life.order().job};
  how.law.referee = key_.verify_key().point();
  how.law.nonce = Random();
  std::vector<std::unique_ptr<dispute::Peer>> peers;
  for (const life::LeaseNumber number : dispute.among) {
    peers.push_back(std::make_unique<MailPeer>(mailbox_, holder, dispute.order, *life.Find(number),
                                               EncodingsOf(dispute.order, number, life.order().job), ended));
  }
  const auto result = dispute::Arbitrate(std::move(peers), how);
  if (ended()) return life::Judged{};
  if (!result) {
    // There is nothing to play over: nobody has the encodings of the job, or fewer than two have a receipt. Nobody is at fault, and nothing will change.
    return life::Judged{.among = dispute.among, .decided = false, .words = OneLine(result.error().message)};
  }
  ASSAY_ASSIGN(const platform::Ruling ruling, platform::RulingOn(life, dispute.among, *result, how.start));
  for (const Bytes& evidence : ruling.evidence) ASSAY_TRY(Store(evidence));
  return ruling.judged;
}

// What the run's files have of the job, so that it need not be asked for; nothing where they are not those of the job.
std::optional<platform::JobEncodings> Referee::EncodingsOf(const std::string& order, life::LeaseNumber lease,
                                                           const Digest& job) {
  const auto run = book_.RunOf(order, lease);
  if (!run) return std::nullopt;
  const auto read = [&](std::string_view name, std::size_t max_bytes) -> Result<Bytes> {
    const auto file = std::ranges::find(run->files, name, &life::OrderFile::name);
    return file == run->files.end() ? Err("{}: is not among the run's files", name) : ReadBlob(blobs_, file->sha256, max_bytes);
  };
  auto encoding = read("job.bin", kMaxJobBytes);
  auto program = read("program.bin", kMaxProgramBytes);
  if (!encoding || !program || JobId(*encoding, *program) != job) return std::nullopt;
  return platform::JobEncodings{std::move(*encoding), std::move(*program)};
}

Status Referee::Store(const Bytes& evidence) {
  const Digest hash = HashBytes(evidence);
  ASSAY_ASSIGN(const std::uint64_t have, blobs_.Begin(hash, kOwner, evidence.size()));
  if (have < evidence.size()) ASSAY_TRY(blobs_.Append(hash, kOwner, have, ByteSpan(evidence).subspan(have)));
  return blobs_.Finish(hash, kOwner);
}

}  // namespace assay::coordinator
