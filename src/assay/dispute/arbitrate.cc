#include "assay/dispute/arbitrate.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/ranges.h>

#include "assay/base/check.h"

namespace assay::dispute {
namespace {

constexpr std::int64_t kRetryMs = 250;

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ThreadCpuMs() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return 1e3 * static_cast<double>(at.tv_sec) + 1e-6 * static_cast<double>(at.tv_nsec);
}

// Events from the providers' threads, in the order in which they came.
class Inbox {
 public:
  void Put(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    ready_.notify_one();
  }
  // None when nothing came before `until_ms`.
  std::optional<Event> Take(std::optional<std::int64_t> until_ms) {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return !events_.empty(); };
    if (!until_ms) {
      ready_.wait(lock, there);
    } else if (!ready_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::milliseconds(*until_ms)), there)) {
      return std::nullopt;
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Event> events_;
};

// Asks one provider what it is given to ask, in order.
class Line {
 public:
  Line(ProviderId id, Peer& peer, Inbox& inbox) : id_(id), peer_(peer), inbox_(inbox), thread_([this] { Run(); }) {}
  ~Line() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    ready_.notify_one();
    peer_.Cancel();
    thread_.join();
  }
  void Ask(Send send) {
    const std::lock_guard lock(mutex_);
    sends_.push_back(std::move(send));
    ready_.notify_one();
  }

 private:
  void Run() {
    while (true) {
      Send send;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return stop_ || !sends_.empty(); });
        if (stop_) return;
        send = std::move(sends_.front());
        sends_.pop_front();
      }
      if (std::optional<Bytes> answer = Insist(send)) {
        inbox_.Put(Answered{id_, HashBytes(send.question), std::move(*answer), NowMs()});
      } else {
        inbox_.Put(Unreachable{id_, NowMs()});
      }
    }
  }
  // Asks again until the deadline: a connection may break, a server may be busy.
  std::optional<Bytes> Insist(const Send& send) {
    for (std::int64_t left = send.deadline_ms - NowMs(); left > 0; left = send.deadline_ms - NowMs()) {
      if (Result<Bytes> answer = peer_.Answer(send.question, left)) return std::move(*answer);
      std::unique_lock lock(mutex_);
      if (ready_.wait_for(lock, std::chrono::milliseconds(kRetryMs), [&] { return stop_; })) return std::nullopt;
    }
    return std::nullopt;
  }
  ProviderId id_;
  Peer& peer_;
  Inbox& inbox_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Send> sends_;
  bool stop_ = false;
  std::thread thread_;
};

// The job's encodings, from the first provider whose are those of the job. Where this build makes the same program of the job, it is not asked for: it is the longer by far.
Result<Terms> FetchTerms(const std::vector<std::unique_ptr<Peer>>& peers, const Digest& job, std::size_t& bytes) {
  std::string why;
  for (const auto& peer : peers) {
    Result<Bytes> encoding = peer->Job();
    if (encoding) {
      Result<Terms> built = Terms::Rebuild(*encoding);
      if (built && built->id() == job) {
        bytes += encoding->size();
        return built;
      }
    }
    Result<Bytes> program = encoding ? peer->Program() : Result<Bytes>(Err("{}", encoding.error().message));
    if (!program) {
      why = program.error().message;
      continue;
    }
    bytes += encoding->size() + program->size();
    if (JobId(*encoding, *program) != job) {
      why = fmt::format("{}: sent the encodings of another job", peer->name());
      continue;
    }
    return Terms::Make(std::move(*encoding), std::move(*program));
  }
  return Err("no provider has the encodings of job {}: {}", job.hex(), why);
}

std::size_t SizeOf(const Event& event) {
  const auto* answered = std::get_if<Answered>(&event);
  return answered == nullptr ? 0 : answered->answer.size();
}

// The signatures of a key of the moment mean nothing.
void Unsign(Evidence& evidence, const std::vector<Claim>& claims, const std::vector<VerifyKey>& without) {
  for (std::size_t i = 0; i < claims.size(); ++i) {
    evidence.parties[i].unsigned_answers = std::ranges::find(without, claims[i].signer) != without.end();
  }
  for (Statement& statement : evidence.statements) {
    for (SignedBy& by : statement.by) {
      if (evidence.parties[by.provider].unsigned_answers) by.signature = Signature{};
    }
  }
}

}  // namespace

Result<Arbitration> Arbitrate(std::vector<std::unique_ptr<Peer>> peers, const ArbitrateOptions& options) {
  if (peers.size() < 2) return Err("a dispute needs two providers");
  Arbitration result;
  const double started_cpu = ThreadCpuMs();
  std::vector<std::string> receipts;
  std::vector<Claim> claims;
  // Who has no receipt claims nothing.
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const auto opened = [&]() -> Result<Claim> {
      ASSAY_ASSIGN(const std::string receipt, peers[i]->Receipt());
      result.bytes_received += receipt.size();
      ASSAY_ASSIGN(Claim claim, OpenClaim(receipt, fmt::format("{}: receipt", peers[i]->name())));
      receipts.push_back(receipt);
      return claim;
    }();
    if (!opened) {
      result.absent.push_back(opened.error().message);
      peers[i].reset();
      continue;
    }
    claims.push_back(*opened);
    result.names.push_back(peers[i]->name());
    result.numbers.push_back(i);
  }
  std::erase(peers, nullptr);
  if (peers.size() < 2) return Err("a dispute needs two receipts: {}", fmt::join(result.absent, "; "));
  const Digest job = options.job.value_or(claims.front().receipt.job);
  ASSAY_ASSIGN(Terms made, FetchTerms(peers, job, result.bytes_received));
  const auto terms = std::make_shared<const Terms>(std::move(made));
  const auto law = LawOf(terms, options.nonce, LawOptions{.pair = options.pair, .unsigned_answers = options.unsigned_answers});
  Referee referee(law, claims, options.clocks);

  Inbox inbox;
  std::deque<Line> lines;
  for (std::size_t i = 0; i < peers.size(); ++i) lines.emplace_back(static_cast<ProviderId>(i), *peers[i], inbox);
  std::vector<Action> actions = referee.Handle(Started{NowMs()});
  while (true) {
    for (Action& action : actions) {
      if (auto* send = std::get_if<Send>(&action)) lines[send->provider].Ask(std::move(*send));
    }
    if (options.watch) options.watch(referee);
    if (referee.done()) break;
    std::optional<Event> event = inbox.Take(referee.WakeAt());
    if (event) result.bytes_received += SizeOf(*event);
    actions = referee.Handle(event ? *event : Event(Tick{NowMs()}));
  }
  result.record = referee.record();
  result.evidence = MakeEvidence(*terms, options.nonce, receipts, result.record);
  Unsign(result.evidence, claims, options.unsigned_answers);
  result.evidence.pair = options.pair;
  result.cpu_ms = ThreadCpuMs() - started_cpu;
  return result;
}

}  // namespace assay::dispute
