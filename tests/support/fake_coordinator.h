// A coordinator in memory, for tests of workers: orders whose lives follow the real rules (life/), leases to whoever asks, blobs, questions. It can be out of reach,
// take leases away and give other bytes than it was given. Thread safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/base/file.h"
#include "assay/life/life.h"
#include "assay/life/wanted.h"
#include "assay/worker/link.h"

namespace assay::worker {

class FakeCoordinator {
 public:
  struct Posted {
    Question question;
    std::optional<tl::expected<Bytes, NoAnswer>> answer{};
  };
  struct GivenBack {
    LeaseName lease;
    life::Ending why{};
    std::string words{};
  };

  FakeCoordinator() : key_(SigningKey::Generate("coordinator")), client_(SigningKey::Generate("client")) {}
  const SigningKey& key() const { return key_; }
  const SigningKey& client() const { return client_; }

  life::OrderFile AddBlob(const std::string& name, const Bytes& bytes) {
    const std::lock_guard lock(mutex_);
    const Digest sha256 = HashBytes(bytes);
    blobs_[sha256] = bytes;
    return {.name = name, .sha256 = sha256, .bytes = static_cast<std::int64_t>(bytes.size())};
  }
  Bytes Blob(const Digest& sha256) {
    const std::lock_guard lock(mutex_);
    return blobs_[sha256];
  }

  void Submit(life::Order order) {
    order.client = client_.verify_key().ToString();
    order.coordinator = key_.verify_key().ToString();
    const std::lock_guard lock(mutex_);
    Apply(order.id, life::Submitted{life::SignOrder(order, client_)});
    changed_.notify_all();
  }

  const life::Life& LifeOf(const std::string& order) { return lives_[order].life; }
  template <class T>
  std::vector<T> Events(const std::string& order) {
    const std::lock_guard lock(mutex_);
    std::vector<T> found;
    for (const life::Event& event : lives_[order].events) {
      if (const T* is = std::get_if<T>(&event)) found.push_back(*is);
    }
    return found;
  }
  // Waits until it holds of what the coordinator knows.
  template <class Condition>
  bool WaitFor(const Condition& condition, int seconds = 60) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(seconds), condition);
  }
  bool IsDecided(const std::string& order) { return lives_[order].life.decision().has_value(); }
  bool HasLease(const std::string& order) { return !lives_[order].life.leases().empty(); }
  bool HasRun(const std::string& order) { return !lives_[order].life.Runs(life::Lease::State::kHeld).empty(); }

  void TakeAway(const std::string& order, life::LeaseNumber lease) {
    const std::lock_guard lock(mutex_);
    Apply(order, life::Released{.lease = lease, .why = life::Ending::kExpired});
    changed_.notify_all();
  }
  void Ask(const Question& question) {
    const std::lock_guard lock(mutex_);
    posted_[question.id] = {.question = question};
    changed_.notify_all();
  }
  std::optional<tl::expected<Bytes, NoAnswer>> AnswerTo(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return posted_[id].answer;
  }
  // Within WaitFor.
  bool AnswerToLocked(const std::string& id) { return posted_[id].answer.has_value(); }
  std::optional<life::Finding> Finding(const std::string& order, life::LeaseNumber lease) {
    const life::Lease* found = lives_[order].life.Find(lease);
    return found == nullptr ? std::nullopt : found->finding;
  }
  void Cancel(const std::string& order) {
    const std::lock_guard lock(mutex_);
    (void)Apply(order, life::Cancelled{.by = "client"});
    changed_.notify_all();
  }
  // A backup of everything, and what is restored from it. How many commitments there were when it was taken.
  int BackUp() {
    const std::lock_guard lock(mutex_);
    saved_lives_ = lives_;
    saved_blobs_ = blobs_;
    return commits;
  }
  void Restore() {
    const std::lock_guard lock(mutex_);
    RestoreLocked();
  }
  // Once, when the next result is handed over: all of its files and commitments have arrived then.
  void RestoreAtDelivery() {
    const std::lock_guard lock(mutex_);
    restores_at_delivery_ = true;
  }
  // Results arrive, but nobody who hands one over is told.
  void SetMuteAtDelivery(bool mute) {
    const std::lock_guard lock(mutex_);
    mute_at_delivery_ = mute;
    changed_.notify_all();
  }
  void SetReachable(bool reachable) {
    const std::lock_guard lock(mutex_);
    reachable_ = reachable;
    changed_.notify_all();
  }

  // Read when nothing runs, or within WaitFor.
  std::vector<Sample> samples;
  std::vector<GivenBack> given_back;
  std::map<std::string, std::vector<life::OrderFile>> run_files;  // by order
  std::string recipient;                                          // that was announced last
  int renewals = 0, commits = 0;
  std::string nonces = "nonces";  // by which audits' nonces are made
  std::int64_t lease_ms = 2'000;

  LinkFactory LinksFor(const SigningKey& key) {
    return [this, vkey = key.verify_key().ToString()] { return std::make_unique<FakeLink>(*this, vkey); };
  }

 private:
  struct Written {
    life::Life life;
    std::vector<life::Event> events;
  };

  void RestoreLocked() {
    lives_ = saved_lives_;
    blobs_ = saved_blobs_;
    changed_.notify_all();
  }
  Status Apply(const std::string& order, life::Event event) {
    Written& written = lives_[order];
    ASSAY_TRY(written.life.Apply({.n = written.life.size(), .at = 1, .event = event}));
    written.events.push_back(std::move(event));
    const std::optional<life::Decided> decision = life::WantedBy(written.life).decision;
    return decision && !written.life.decision() ? Apply(order, *decision) : Status();
  }

  class FakeLink : public Link {
   public:
    FakeLink(FakeCoordinator& home, std::string vkey) : home_(home), vkey_(std::move(vkey)) {}

    Call<CoordinatorInfo> Coordinator() override {
      return Reached<CoordinatorInfo>(
          [&]() -> Call<CoordinatorInfo> { return CoordinatorInfo{home_.key_.verify_key().ToString(), home_.lease_ms}; });
    }
    void Address(const VerifyKey&) override {}
    Call<void> Register(const Hardware&, const std::string& announced) override {
      return Reached<void>([&]() -> Call<void> {
        home_.recipient = announced;
        return {};
      });
    }
    Call<WorkReply> Work(const WorkRequest& request) override {
      std::unique_lock lock(home_.mutex_);
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(request.wait_ms);
      while (true) {
        if (std::exchange(interrupted_, false)) return tl::unexpected(CallError{CallError::Kind::kInterrupted, "interrupted"});
        if (!home_.reachable_) return tl::unexpected(CallError{CallError::Kind::kLater, "out of reach"});
        WorkReply reply = Reply(request);
        const bool known = !reply.lease || std::ranges::find(request.holding, reply.lease->name.order) != request.holding.end();
        const bool quiet = known && reply.questions.empty() && reply.cancelled.empty() && reply.decided.empty();
        if (!quiet || std::chrono::steady_clock::now() >= until) return reply;
        home_.changed_.wait_until(lock, until);
      }
    }
    Call<LeasePapers> Papers(const LeaseName& name) override {
      return Reached<LeasePapers>([&]() -> Call<LeasePapers> {
        const life::Lease* lease = home_.lives_[name.order].life.Find(name.lease);
        if (lease == nullptr || lease->state != life::Lease::State::kOpen) return Ended();
        LeasePapers papers{.order = std::get<life::Submitted>(home_.lives_[name.order].events.front()).order};
        papers.committed = lease->committed ? lease->committed->size : 0;
        if (lease->role == life::Role::kAudit) {
          papers.run = RunUnderAudit{.receipt = home_.lives_[name.order].life.Find(lease->of)->receipt_file,
                                     .files = home_.run_files[name.order]};
        }
        return papers;
      });
    }
    Call<void> Renew(const LeaseName& name) override {
      return Reached<void>([&]() -> Call<void> {
        ++home_.renewals;
        return Open(name);
      });
    }
    Call<void> Commit(const LeaseName& name, const Commitment& commitment) override {
      return Reached<void>([&]() -> Call<void> {
        const life::Event event = life::Committed{name.lease, commitment.note, commitment.proof};
        if (Said(name.order, event)) return {};
        if (auto open = Open(name); !open) return open;
        ++home_.commits;
        return Checked(home_.Apply(name.order, event));
      });
    }
    Call<void> Tell(const LeaseName& name, const std::vector<Sample>& told) override {
      return Reached<void>([&]() -> Call<void> {
        home_.samples.insert(home_.samples.end(), told.begin(), told.end());
        return Open(name);
      });
    }
    Call<void> Deliver(const LeaseName& name, const Delivery& delivery) override {
      return Reached<void>([&]() -> Call<void> {
        const life::Event event = life::Received{name.lease, delivery.receipt, delivery.proof, delivery.model};
        if (std::exchange(home_.restores_at_delivery_, false)) home_.RestoreLocked();
        const CallError lost{CallError::Kind::kLater, "the server closed the connection"};
        if (Said(name.order, event)) return home_.mute_at_delivery_ ? Call<void>(tl::unexpected(lost)) : Call<void>();
        if (auto open = Open(name); !open) return open;
        for (const life::OrderFile& file : delivery.files) {
          if (!home_.blobs_.contains(file.sha256))
            return tl::unexpected(CallError{CallError::Kind::kRefused, "no blob of " + file.name});
        }
        if (auto done = Checked(home_.Apply(name.order, event)); !done) return done;
        home_.run_files.try_emplace(name.order, delivery.files);
        return home_.mute_at_delivery_ ? Call<void>(tl::unexpected(lost)) : Call<void>();
      });
    }
    Call<void> Report(const LeaseName& name, const std::string& report) override {
      return Reached<void>([&]() -> Call<void> {
        const life::Event event = life::Audited{name.lease, report};
        if (Said(name.order, event)) return {};
        if (auto open = Open(name); !open) return open;
        return Checked(home_.Apply(name.order, event));
      });
    }
    Call<void> GiveBack(const LeaseName& name, life::Ending why, const std::string& words) override {
      return Reached<void>([&]() -> Call<void> {
        if (auto open = Open(name); !open) return open;
        home_.given_back.push_back({name, why, words});
        return Checked(home_.Apply(name.order, life::Released{name.lease, why, words}));
      });
    }
    Call<void> Answer(const std::string& question, const tl::expected<Bytes, NoAnswer>& answer) override {
      return Reached<void>([&]() -> Call<void> {
        home_.posted_[question].answer = answer;
        return {};
      });
    }
    Call<void> Download(const life::OrderFile& file, const std::string& path) override {
      return Reached<void>([&]() -> Call<void> {
        const auto found = home_.blobs_.find(file.sha256);
        if (found == home_.blobs_.end()) return tl::unexpected(CallError{CallError::Kind::kGone, "no such blob"});
        const Status written = WriteFileAtomic(path, found->second);
        if (!written) return tl::unexpected(CallError{CallError::Kind::kHere, written.error().message});
        return {};
      });
    }
    Call<void> Upload(const life::OrderFile& file, const std::string& path) override {
      const auto bytes = ReadFile(path, std::uint64_t{1} << 30);
      if (!bytes) return tl::unexpected(CallError{CallError::Kind::kHere, bytes.error().message});
      return Reached<void>([&]() -> Call<void> {
        if (HashBytes(*bytes) != file.sha256) return tl::unexpected(CallError{CallError::Kind::kRefused, "another hash"});
        home_.blobs_[file.sha256] = *bytes;
        return {};
      });
    }
    void Interrupt() override {
      const std::lock_guard lock(home_.mutex_);
      interrupted_ = true;
      home_.changed_.notify_all();
    }

   private:
    static tl::unexpected<CallError> Ended() {
      return tl::unexpected(CallError{CallError::Kind::kEnded, "the lease has ended"});
    }
    template <class T, class Do>
    Call<T> Reached(const Do& act) {
      const std::lock_guard lock(home_.mutex_);
      if (std::exchange(interrupted_, false)) return tl::unexpected(CallError{CallError::Kind::kInterrupted, "interrupted"});
      if (!home_.reachable_) return tl::unexpected(CallError{CallError::Kind::kLater, "out of reach"});
      home_.changed_.notify_all();
      return act();
    }
    Call<void> Open(const LeaseName& name) {
      const life::Lease* lease = home_.lives_[name.order].life.Find(name.lease);
      if (lease == nullptr || lease->state != life::Lease::State::kOpen) return Ended();
      return {};
    }
    bool Said(const std::string& order, const life::Event& event) {
      const auto& events = home_.lives_[order].events;
      return std::ranges::find(events, event) != events.end();
    }
    static Call<void> Checked(const Status& status) {
      if (!status) return tl::unexpected(CallError{CallError::Kind::kRefused, status.error().message});
      return {};
    }
    WorkReply Reply(const WorkRequest& request) {
      WorkReply reply;
      for (auto& [order, written] : home_.lives_) {
        const bool held = std::ranges::find(request.holding, order) != request.holding.end();
        if (held && written.life.decision()) reply.decided.push_back(order);
        for (const auto& [number, lease] : written.life.leases()) {
          if (lease.worker != vkey_) continue;
          if (lease.state == life::Lease::State::kOpen) reply.lease = Given(order, lease);
          if (held && lease.state == life::Lease::State::kGone) reply.cancelled.push_back({order, number});
        }
      }
      for (const auto& [id, posted] : home_.posted_) {
        if (!posted.answer && Mine(posted.question.order)) reply.questions.push_back(posted.question);
      }
      if (!reply.lease) reply.lease = New(request);
      return reply;
    }
    bool Mine(const std::string& order) {
      const auto runs = home_.lives_[order].life.Runs(life::Lease::State::kHeld);
      return std::ranges::any_of(runs, [&](const life::Lease* lease) { return lease->worker == vkey_; });
    }
    static GivenLease Given(const std::string& order, const life::Lease& lease) {
      return {.name = {order, lease.number},
              .role = lease.role,
              .of = lease.role == life::Role::kAudit ? lease.of : lease.challenges,
              .nonce = lease.nonce,
              .ends_in_ms = 1'000};
    }
    std::optional<GivenLease> New(const WorkRequest& request) {
      for (auto& [order, written] : home_.lives_) {
        const bool held = std::ranges::find(request.holding, order) != request.holding.end();
        if (!request.fresh && !held) continue;
        const life::Wanted wanted = life::WantedBy(written.life);
        life::Leased leased{.lease = written.life.next_lease(), .role = life::Role::kTrain, .worker = vkey_};
        if (!wanted.challenges.empty()) {
          leased.of = wanted.challenges.front();
        } else if (!wanted.audits.empty()) {
          leased.role = life::Role::kAudit;
          leased.of = wanted.audits.front();
          leased.nonce = HashBytes(AsBytes(home_.nonces + order)).hex();
        } else if (wanted.runs == 0) {
          continue;
        }
        if (home_.Apply(order, leased)) return Given(order, *written.life.Find(leased.lease));
      }
      return std::nullopt;
    }

    FakeCoordinator& home_;
    const std::string vkey_;
    bool interrupted_ = false;
  };

  const SigningKey key_, client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reachable_ = true;
  bool restores_at_delivery_ = false, mute_at_delivery_ = false;
  std::map<std::string, Written> lives_, saved_lives_;
  std::map<Digest, Bytes> blobs_, saved_blobs_;
  std::map<std::string, Posted> posted_;
};

}  // namespace assay::worker
