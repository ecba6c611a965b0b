#include "assay/dispute/arbitrate.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "assay/base/check.h"
#include "assay/dispute/waking_clock.h"

namespace assay::dispute {
namespace {

constexpr std::int64_t kRetryMs = 250;
constexpr std::int64_t kLongestRetryMs = 10'000;  // whatever a provider asks for
constexpr std::int64_t kAttemptMs =
    10'000;  // to fetch a receipt or the encodings of a job, or to open a dispute before anything is asked
constexpr std::int64_t kFirstAttemptMs = 2'000;  // to fetch a receipt: whoever looks on is told soon who is waited for

constexpr std::int64_t kRefusedMs = 5'000;  // for which an address that refuses the dispute is not asked again
// What is no answer may have been spoilt on its way. Whoever sends nothing else is not heard out: it would have as much time as steps take to be run again.
constexpr int kMaxNoAnswers = 3;
constexpr std::int64_t kNoAnswerPauseMs = 1'000;

double ThreadCpuMs() {
  timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return 1e3 * static_cast<double>(at.tv_sec) + 1e-6 * static_cast<double>(at.tv_nsec);
}

// Events from the providers' threads, in the order in which they came.
class Inbox {
 public:
  explicit Inbox(WakingClock& clock) : clock_(clock) {}
  void Put(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    ready_.notify_one();
  }
  // None when nothing came before `until_ms`.
  std::optional<Event> Take(std::optional<std::int64_t> until_ms) {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return !events_.empty(); };
    if (!until_ms) ready_.wait(lock, there);
    while (!there()) {
      const std::int64_t left = *until_ms - clock_.NowMs();
      if (left <= 0) return std::nullopt;
      ready_.wait_for(lock, std::chrono::milliseconds(left), there);
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  WakingClock& clock_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Event> events_;
};

// Waits that can be ended.
class Patience {
 public:
  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  // True when it was ended.
  bool Wait(std::int64_t ms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return ended_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

// For how long to leave a provider alone that asks for it: never for so long that it could not be asked again several times before its clock runs out.
std::int64_t PauseFor(const PeerError& error, std::int64_t left_ms) {
  const std::int64_t asked = std::min({error.retry_ms, kLongestRetryMs, left_ms / 4});
  return std::max<std::int64_t>(1, std::min(std::max(asked, kRetryMs), left_ms));
}

// Tells whoever looks on for whom the referee waits, once for each reason.
class Waiting {
 public:
  using Tell = std::function<void(const std::string& name, const std::string& why)>;
  explicit Waiting(Tell tell) : tell_(std::move(tell)) {}
  void Note(const std::string& name, const std::string& why) {
    if (!tell_) return;
    const std::lock_guard lock(mutex_);
    if (std::exchange(last_[name], why) != why) tell_(name, why);
  }

 private:
  Tell tell_;
  std::mutex mutex_;
  std::map<std::string, std::string> last_;
};

// Calls until it succeeds, can never succeed, or the deadline has come: a connection may break, a server may be busy or down for a while.
template <class Call>
auto Insist(WakingClock& clock, std::int64_t deadline_ms, Patience& patience, const Call& call)
    -> decltype(call(std::int64_t{})) {
  auto result = decltype(call(std::int64_t{}))(tl::unexpected(PeerError{PeerError::Kind::kLater, "no answer in time"}));
  for (std::int64_t left = deadline_ms - clock.NowMs(); left > 0; left = deadline_ms - clock.NowMs()) {
    result = call(left);
    if (result || result.error().is_final()) break;
    if (patience.Wait(PauseFor(result.error(), deadline_ms - clock.NowMs()))) break;
  }
  return result;
}

// Asks one provider what it is given to ask, in order.
class Line {
 public:
  struct Site {
    const Law& law;
    const Claim& claim;
    Digest receipt;         // the hash of the one that this peer hands out
    const SigningKey* key;  // the referee's
    WakingClock& clock;
    Inbox& inbox;
    std::atomic<int>& hopeful;  // addresses of the party that have not said that they will never answer
    Waiting& waiting;
  };
  Line(ProviderId id, Peer& peer, Bytes opening, const Site& site)
      : id_(id), peer_(peer), opening_(std::move(opening)), site_(site), thread_([this] { Run(); }) {}
  ProviderId id() const { return id_; }
  ~Line() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    ready_.notify_one();
    patience_.End();
    peer_.Cancel();
    thread_.join();
  }
  // Why the last attempt to open the dispute or to ask got no answer; empty: it did.
  std::string trouble() {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }
  std::optional<PeerError::Kind> trouble_kind() {
    const std::lock_guard lock(mutex_);
    return trouble_kind_;
  }
  void Ask(Send send) {
    const std::lock_guard lock(mutex_);
    sends_.push_back(std::move(send));
    ready_.notify_one();
  }

 private:
  void Run() {
    if (!opening_.empty()) Open();
    while (true) {
      Send send;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [&] { return stop_ || !sends_.empty(); });
        if (stop_) return;
        send = std::move(sends_.front());
        sends_.pop_front();
      }
      auto answer = Insist(site_.clock, send.deadline_ms, patience_, [&](std::int64_t left) {
        auto result = Call(send, left);
        NoteTrouble(result ? nullptr : &result.error());
        return result;
      });
      const Hope hope = HopeAfter(answer ? nullptr : &answer.error());
      if (answer) {
        site_.inbox.Put(Answered{id_, HashBytes(send.question), std::move(*answer), site_.clock.NowMs()});
      } else {
        site_.inbox.Put(Unreachable{id_, site_.clock.NowMs(), hope});
      }
    }
  }
  // Before anything is asked, since a provider sets aside what the dispute may cost it when it opens it: once, and again with the first question where that failed.
  void Open() {
    const auto opened = TryToOpen(kAttemptMs);
    NoteTrouble(opened ? nullptr : &opened.error());
    const Hope hope = HopeAfter(opened ? nullptr : &opened.error());
    if (hope != Hope::kLater) site_.inbox.Put(Unreachable{id_, site_.clock.NowMs(), hope});
  }
  FromPeer<void> TryToOpen(std::int64_t left_ms) {
    auto opened = peer_.Open(opening_, left_ms);
    open_ = opened.has_value();
    refusal_.reset();
    if (!opened && opened.error().is_final()) refusal_ = opened.error();
    refused_until_ms_ = site_.clock.NowMs() + kRefusedMs;
    return opened;
  }
  void NoteTrouble(const PeerError* error) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      trouble_ = error == nullptr ? "" : error->why;
      trouble_kind_ = error == nullptr ? std::nullopt : std::optional(error->kind);
    }
    if (error != nullptr && !error->is_final() && error->kind != PeerError::Kind::kNotOpen)
      site_.waiting.Note(peer_.name(), error->why);
  }
  // One address that refuses says nothing about the others.
  Hope HopeAfter(const PeerError* error) {
    const bool never = error != nullptr && error->is_final();
    if (never != hopeless_) site_.hopeful += never ? -1 : 1;
    hopeless_ = never;
    if (never && error->kind == PeerError::Kind::kFailed) return Hope::kUnable;
    return !never ? Hope::kLater : site_.hopeful == 0 ? Hope::kNobody : Hope::kFewer;
  }
  // A provider that was restarted has forgotten the dispute: it is opened again.
  FromPeer<Bytes> Call(const Send& send, std::int64_t left_ms) {
    if (!open_) {
      if (refusal_ && site_.clock.NowMs() < refused_until_ms_) return tl::unexpected(*refusal_);
      if (auto opened = TryToOpen(left_ms); !opened) return tl::unexpected(opened.error());
    }
    const Bytes signed_question = site_.key != nullptr ? SignQuestion(send.question, site_.receipt, *site_.key) : send.question;
    FromPeer<Bytes> answer = peer_.Answer(signed_question, left_ms);
    if (answer) answer = Checked(std::move(*answer), send);
    if (answer) {
      no_answers_ = 0;
      return answer;
    }
    PeerError& error = answer.error();
    if (error.kind == PeerError::Kind::kNotOpen) open_ = false;
    if (error.kind != PeerError::Kind::kNoAnswer) return answer;
    error.retry_ms = kNoAnswerPauseMs;
    if (++no_answers_ >= kMaxNoAnswers) error.kind = PeerError::Kind::kNever;
    return answer;
  }
  // What is not signed by the claim's key is nobody's answer, wherever it came from. Nor is what is longer than any answer to the question, which the
  // referee does not read.
  FromPeer<Bytes> Checked(Bytes bytes, const Send& send) const {
    const auto none = [&](std::string_view why) {
      return tl::unexpected(PeerError{PeerError::Kind::kNoAnswer, fmt::format("{}: its answers are {}", peer_.name(), why)});
    };
    const auto asked = DecodeQuestion(send.question);
    if (asked && bytes.size() > site_.law.max_answer_bytes(asked->question)) return none("longer than any answer can be");
    const auto answer = DecodeAnswer(bytes);
    if (!answer || !site_.law.is_signed(*answer, send.question, site_.claim.signer))
      return none("not signed by the key of the receipt that it hands out");
    return bytes;
  }

  ProviderId id_;
  Peer& peer_;
  const Bytes opening_;
  const Site site_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Send> sends_;
  std::string trouble_;
  std::optional<PeerError::Kind> trouble_kind_;
  bool stop_ = false;
  bool open_ = false;
  bool hopeless_ = false;
  std::optional<PeerError> refusal_;  // of the dispute
  std::int64_t refused_until_ms_ = 0;
  int no_answers_ = 0;  // in a row
  Patience patience_;
  std::thread thread_;
};

// Everybody's receipt, asked for side by side.
std::vector<FromPeer<std::string>> FetchReceipts(const std::vector<std::unique_ptr<Peer>>& peers, std::int64_t allowance_ms,
                                                 WakingClock& clock, Waiting& waiting) {
  std::vector<FromPeer<std::string>> receipts(peers.size());
  std::vector<std::thread> threads;
  const std::int64_t deadline_ms = clock.NowMs() + allowance_ms;
  Patience patience;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    threads.emplace_back([&, i] {
      std::int64_t attempt_ms = kFirstAttemptMs;
      receipts[i] = Insist(clock, deadline_ms, patience, [&](std::int64_t left) {
        auto receipt = peers[i]->Receipt(std::min(left, std::exchange(attempt_ms, kAttemptMs)));
        if (!receipt && !receipt.error().is_final()) waiting.Note(peers[i]->name(), receipt.error().why);
        return receipt;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return receipts;
}

// The job that is disputed: the one asked for, or the one that everybody signed for. Who comes first in the list has no say.
Result<Digest> JobOf(const Arbitration& result, const std::optional<Digest>& asked) {
  const Digest& job = result.claims.front().receipt.job;
  if (asked) {
    const auto is_asked = [&](const Claim& claim) { return claim.receipt.job == *asked; };
    if (std::ranges::any_of(result.claims, is_asked)) return *asked;
    const bool one = std::ranges::all_of(result.claims, [&](const Claim& claim) { return claim.receipt.job == job; });
    return Err("none of them has a run of the job that was asked for, {}: {} {}{}", asked->hex(),
               one ? "they are runs of job" : result.names.front() + " has one of job", job.hex(),
               one ? "" : ", others of others");
  }
  for (std::size_t i = 1; i < result.claims.size(); ++i) {
    const Digest& other = result.claims[i].receipt.job;
    if (other == job) continue;
    return Err("the receipts are for different jobs, {} ({}) and {} ({}): name the one that was asked for with --job",
               job.hex(), result.names.front(), other.hex(), result.names[i]);
  }
  return job;
}

// The job's encodings, from the first provider whose are those of the job. Where this build makes the same program of the job, it is not asked for: it is the longer by far.
// Nobody holds up the others for longer than one attempt.
Result<Terms> FetchTerms(const std::vector<std::unique_ptr<Peer>>& peers, const Digest& job, std::int64_t allowance_ms,
                         WakingClock& clock, std::size_t& bytes) {
  std::string why;
  const std::int64_t deadline_ms = clock.NowMs() + allowance_ms + kAttemptMs * static_cast<std::int64_t>(peers.size());
  Patience patience;
  do {
    for (const auto& peer : peers) {
      FromPeer<Bytes> encoding = peer->Job(std::min(allowance_ms, kAttemptMs));
      if (encoding) {
        Result<Terms> built = Terms::Rebuild(*encoding);
        if (built && built->id() == job) {
          bytes += encoding->size();
          return built;
        }
      }
      FromPeer<Bytes> program = encoding ? peer->Program(std::min(allowance_ms, kAttemptMs)) : encoding;
      if (!program) {
        why = program.error().why;
        continue;
      }
      bytes += encoding->size() + program->size();
      if (JobId(*encoding, *program) == job) return Terms::Make(std::move(*encoding), std::move(*program));
      why = fmt::format("{}: sent the encodings of another job", peer->name());
    }
    patience.Wait(kRetryMs);
  } while (clock.NowMs() < deadline_ms);
  return Err("no provider has the encodings of job {}: {}", job.hex(), why);
}

// Opens the dispute at each provider with a receipt that contradicts its own; none where there is no such.
std::vector<Bytes> OpeningsFor(const Law& law, const ArbitrateOptions& options, const std::vector<Claim>& claims,
                               const std::vector<std::string>& receipts, const Record& record) {
  std::vector<Bytes> openings(claims.size());
  if (record.parties < 2) return openings;  // nothing will be asked
  Opening opening{.referee = options.law.referee, .nonce = options.law.nonce, .receipts = record.receipts};
  opening.parties = static_cast<std::uint32_t>(record.parties);
  std::ranges::sort(opening.receipts, {}, &Digest::bytes);
  for (std::size_t i = 0; i < claims.size() && options.key != nullptr; ++i) {
    if (record.providers[i].standing != Standing::kStanding) continue;
    for (std::size_t j = 0; j < claims.size(); ++j) {
      if (!TakesPart(record.providers[j].standing) || law.group(claims[i]) == law.group(claims[j])) continue;
      opening.shown = receipts[j];
      openings[i] = SignOpening(opening, *options.key);
      break;
    }
  }
  return openings;
}

std::size_t SizeOf(const Event& event) {
  const auto* answered = std::get_if<Answered>(&event);
  return answered == nullptr ? 0 : answered->answer.size();
}

// The signatures of a key of the moment mean nothing.
void Unsign(Evidence& evidence, const std::vector<VerifyKey>& without) {
  for (Evidence::Party& party : evidence.parties) {
    const auto claim = OpenClaim(party.receipt, "receipt");
    party.unsigned_answers = claim && std::ranges::find(without, claim->signer) != without.end();
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
  WakingClock clock;
  Waiting waiting(options.waiting);
  std::vector<FromPeer<std::string>> fetched = FetchReceipts(peers, options.clocks.allowance_ms, clock, waiting);
  // Who has no receipt claims nothing.
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    const auto opened = [&]() -> Result<Claim> {
      if (!fetched[i]) return Err("{}", fetched[i].error().why);
      result.bytes_received += fetched[i]->size();
      return OpenClaim(*fetched[i], "receipt");
    }();
    if (!opened) {
      const bool reached =
          fetched[i] || (fetched[i].error().is_final() && fetched[i].error().kind != PeerError::Kind::kNoProvider);
      result.absent.push_back({number, peers[i]->name(), opened.error().message, reached});
      peers[i].reset();
      continue;
    }
    receipts.push_back(std::move(*fetched[i]));
    result.claims.push_back(*opened);
    result.names.push_back(peers[i]->name());
    result.numbers.push_back(number);
  }
  std::erase(peers, nullptr);
  if (peers.size() < 2) {
    std::string why;
    for (const auto& absent : result.absent) {
      const bool is_named = absent.why.starts_with(absent.name);  // what a client says of a connection begins with its URL
      why += fmt::format("{}{}{}{}", why.empty() ? "" : "; ", is_named ? "" : absent.name, is_named ? "" : ": ", absent.why);
    }
    return Err("a dispute needs two receipts: {}", why);
  }
  ASSAY_ASSIGN(result.job, JobOf(result, options.job));
  ASSAY_ASSIGN(Terms made, FetchTerms(peers, result.job, options.clocks.allowance_ms, clock, result.bytes_received));
  made.set_starting_weights(options.start);
  const auto terms = std::make_shared<const Terms>(std::move(made));
  const auto law = LawOf(terms, options.law);
  Referee referee(law, result.claims, options.clocks);

  Inbox inbox(clock);
  const std::vector<ProviderId>& parties = referee.parties();
  std::vector<std::atomic<int>> hopeful(peers.size());  // by party
  for (const ProviderId party : parties) ++hopeful[party];
  std::deque<Line> lines;
  const std::vector<Bytes> openings = OpeningsFor(*law, options, result.claims, receipts, referee.record());
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Line::Site site{
        *law,   referee.claims()[parties[i]], referee.claims()[i].receipt_hash, options.key, clock, inbox, hopeful[parties[i]],
        waiting};
    lines.emplace_back(parties[i], *peers[i], openings[parties[i]], site);
  }
  std::vector<Action> actions = referee.Handle(Started{clock.NowMs()});
  while (true) {
    for (Action& action : actions) {
      const auto* send = std::get_if<Send>(&action);
      for (Line& line : lines) {
        if (send != nullptr && line.id() == send->provider) line.Ask(*send);
      }
    }
    if (options.watch) options.watch(referee);
    if (referee.done()) break;
    std::optional<Event> event = inbox.Take(referee.WakeAt());
    if (event) result.bytes_received += SizeOf(*event);
    actions = referee.Handle(event ? *event : Event(Tick{clock.NowMs()}));
  }
  result.record = referee.record();
  for (Line& line : lines) {
    result.trouble.push_back(line.trouble());
    result.trouble_kind.push_back(line.trouble_kind());
  }
  result.evidence = MakeEvidence(*terms, options.law, receipts, result.numbers, result.record);
  Unsign(result.evidence, options.law.unsigned_answers);
  result.cpu_ms = ThreadCpuMs() - started_cpu;
  return result;
}

}  // namespace assay::dispute
