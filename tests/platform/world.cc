#include "world.h"

#include <algorithm>

#include "assay/coordinator/schema.h"
#include "assay/life/ruling.h"
#include "assay/merkle/proof.h"
#include "assay/merkle/tree.h"
#include "assay/seal/announcement.h"
#include "support/life_parties.h"

namespace assay::testkit {
namespace {

constexpr std::int64_t kLeaseMs = 60'000;
constexpr int kLateWorkers = 12;  // honest ones that come when the storm is over

SigningKey KeyOfWorker(int number) { return KeyOf("worker" + std::to_string(number)); }

// The log of a run: what it is at 4 of its 11 entries on the way, and the proof from there to the receipt.
struct Log {
  std::vector<Digest> leaves;
  explicit Log(int claim) {
    for (int i = 0; i < 11; ++i) leaves.push_back(DigestOf("leaf" + std::to_string(i) + (i > 6 ? std::to_string(claim) : "")));
  }
  Checkpoint Head(int worker, std::size_t size) const {
    return {.origin = OriginOf(worker),
            .size = size,
            .root = TreeRoot({leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(size)})};
  }
  std::vector<Digest> Proof(std::size_t from, std::size_t to) const {
    return ProveConsistency(std::span(leaves).first(to), from);
  }
};

// Runs some transactions twice, the first time in vain, as a database does that another transaction got in the way of.
class Retrying final : public store::Database {
 public:
  Retrying(std::unique_ptr<store::Database> inner, std::function<bool()> again)
      : inner_(std::move(inner)), again_(std::move(again)) {}

  Status Transact(store::Access access, const Body& body) override {
    if (again_()) {
      static_cast<void>(inner_->Transact(access, [&](store::Transaction& t) -> Status {
        ASSAY_TRY(body(t));
        return Err("once more");
      }));
    }
    return inner_->Transact(access, body);
  }
  const std::string& name() const override { return inner_->name(); }

 private:
  std::unique_ptr<store::Database> inner_;
  std::function<bool()> again_;
};

const SigningKey& CoordinatorKey() {
  static const SigningKey key = KeyOf("coordinator");
  return key;
}

}  // namespace

World::World(std::uint64_t seed) : dice_(seed) {
  auto memory = store::Database::Open(":memory:");
  if (!memory) {
    Complain(memory.error().message);
    return;
  }
  if (const auto migrated = store::Migrate(**memory, coordinator::Schema()); !migrated) Complain(migrated.error().message);
  auto retrying = std::make_unique<Retrying>(std::move(*memory), [this] { return dice_.Percent(5); });
  database_ = std::make_unique<FaultyDatabase>(std::move(retrying), [this](Point) {
    if (calm_ || !dice_.Percent(1)) return Trouble::kNone;
    ++tally_.faults;
    constexpr Trouble kTroubles[] = {Trouble::kBefore, Trouble::kLostRequest, Trouble::kLostAnswer};
    return kTroubles[dice_.Below(3)];
  });
  for (Coordinator& coordinator : coordinators_) {
    coordinator.clock = std::make_shared<FakeClock>();
    Start(coordinator);
  }
  calm_ = true;
  const int workers = 3 + dice_.Below(6);
  for (int i = 0; i < workers; ++i) {
    const int nature = dice_.Below(11);
    workers_.push_back({.number = i,
                        .nature = nature < 5   ? Nature::kHonest
                                  : nature < 7 ? Nature::kLiar
                                               : static_cast<Nature>(nature - 5)});
  }
  const int clients = 1 + dice_.Below(3);
  for (int i = 0; i < clients; ++i) {
    life::Policy policy{.replicas = 1 + dice_.Below(3),
                        .audit = dice_.Percent(50) ? 10 : 0,
                        .probe = dice_.Percent(20) ? 50 : 100,
                        .attempts = 4 + dice_.Below(8)};
    if (policy.replicas == 1) policy.audit = 10;
    const SigningKey key = KeyOf("client" + std::to_string(i));
    life::Order order{.id = DigestOf("order" + std::to_string(i)).hex().substr(0, 32),
                      .client = key.verify_key().ToString(),
                      .coordinator = CoordinatorKey().verify_key().ToString(),
                      .job = DigestOf("job"),
                      .files = {{.name = "job.toml", .sha256 = DigestOf("toml"), .bytes = 4}},
                      .policy = policy};
    const bool sealed = dice_.Percent(25);
    if (sealed) {
      // To some of the workers that are there, and to all that come later, so that there are enough in the end.
      for (int worker = 0; worker < workers + kLateWorkers; ++worker) {
        if (worker >= workers || dice_.Percent(50))
          order.sealed.push_back(RecipientOf("worker" + std::to_string(worker)).ToString());
      }
      order.reply = RecipientOf("client" + std::to_string(i)).ToString();
      for (life::OrderFile& file : order.files) file.bound = DigestOf("bound").hex();
    }
    clients_.push_back(
        {.order = order.id, .envelope = life::SignOrder(order, key), .gives_up = dice_.Percent(5), .sealed = sealed});
    Note(AnyBook().AddAccount("client" + std::to_string(i)));
  }
  for (const Worker& worker : workers_) AddWorker(worker.number);
  calm_ = false;
}

void World::AddWorker(int number) {
  const std::string name = std::to_string(number);
  const Announcement announced{.recipient = RecipientOf("worker" + name), .made = 1};
  Note(AnyBook().AddAccount("provider" + name));
  Note(AnyBook().AddWorker("provider" + name, WorkerKey(number),
                           {.hardware = "{}", .announcement = SignAnnouncement(announced, KeyOfWorker(number))}));
}

World::~World() = default;

void World::Start(Coordinator& coordinator) {
  coordinator.book = std::make_unique<coordinator::Book>(
      *database_, CoordinatorKey(), coordinator::BookOptions{.lease_ms = kLeaseMs, .clock = coordinator.clock, .draw = [this] {
                                                               return DigestOf("draw" + std::to_string(dice_.Next()));
                                                             }});
}

void World::Complain(std::string what) {
  if (wrong_.empty()) wrong_ = std::move(what);
}

// In calm weather nothing may fail but what the book refuses.
void World::Note(const Status& status) {
  if (!status && calm_ && status.error().system) Complain("in calm weather: " + status.error().message);
}

World::Worker* World::Find(const std::string& vkey) {
  const auto found =
      std::find_if(workers_.begin(), workers_.end(), [&](const Worker& worker) { return WorkerKey(worker.number) == vkey; });
  return found == workers_.end() ? nullptr : &*found;
}

void World::Finish(Worker& worker) {
  const coordinator::GivenLease lease = *worker.lease;
  const std::string key = WorkerKey(worker.number);
  Status done;
  if (lease.role == life::Role::kAudit) {
    const auto chapter = AnyBook().Read(lease.order, 0, 1 << 20);
    if (!chapter) return;
    life::Life seen;
    for (const std::string& text : chapter->entries) Note(seen.Apply(*life::ParseEntry(text, "entry")));
    const life::Lease* audited = seen.Find(lease.of);
    const bool truth = audited->receipt->final_state_root == ReceiptOf(worker.number, 0).final_state_root;
    const bool says = worker.nature == Nature::kLiar                                               ? true
                      : worker.nature == Nature::kSlanderer || worker.nature == Nature::kHitAndRun ? false
                                                                                                   : truth;
    const life::Report report{.order = lease.order,
                              .lease = lease.lease,
                              .receipt = HashBytes(AsBytes(audited->receipt_file)),
                              .nonce = lease.nonce,
                              .share = {},
                              .percent = seen.order().policy.audit,
                              .finding = says ? life::Finding::kVerified : life::Finding::kRefuted,
                              .steps = 1};
    const life::Report sampled = Sampled(report, *audited->receipt, "share of " + std::to_string(worker.number));
    done = AnyBook().Report(key, lease.order,
                            {.lease = lease.lease, .report = life::SignReport(sampled, KeyOfWorker(worker.number))});
  } else {
    const Log log(ClaimOf(worker));
    Receipt receipt = ReceiptOf(worker.number, ClaimOf(worker));
    receipt.log = log.Head(worker.number, 11);
    const auto proof =
        worker.committed == 0 ? std::vector<Digest>() : log.Proof(static_cast<std::size_t>(worker.committed), 11);
    done = AnyBook().Receive(
        key, lease.order,
        {.lease = lease.lease, .receipt = SignReceipt(receipt, KeyOfWorker(worker.number)), .proof = proof, .model = 100});
  }
  Note(done);
  // One that refutes whatever it audits, and never comes back to make good for it.
  worker.gone = done && worker.nature == Nature::kHitAndRun && lease.role == life::Role::kAudit;
  // What it brings is whole and its own. Only that the lease has ended, or that it forgot what it had committed to, may be said against it.
  const auto says = [&](std::string_view what) { return !done && done.error().message.find(what) != std::string::npos; };
  const bool forgot = says("the checkpoint before") || says("a checkpoint, and there is none");
  if ((says("receipt:") || says("report:")) && !forgot) Complain("a whole result is refused: " + done.error().message);
  // Said, or refused for good; otherwise it says it again.
  if (done || !(done.error().system || done.error().unknown_outcome)) {
    if (!done || !dice_.Percent(20)) worker.lease.reset();
  }
}

void World::ActAs(Worker& worker) {
  if (worker.gone) return;
  const std::string key = WorkerKey(worker.number);
  if (!worker.lease) {
    const auto next = AnyBook().Next(key);
    if (!next) return Note(tl::unexpected(next.error()));
    if (*next) {
      ++tally_.leases;
      worker.lease = **next;
      worker.committed = 0;
    }
    return;
  }
  const coordinator::GivenLease lease = *worker.lease;
  if (worker.nature == Nature::kVanishing && !calm_) {
    if (dice_.Percent(50)) worker.lease.reset();  // and forgets it
    return;
  }
  if (worker.nature == Nature::kLate && !calm_ && dice_.Percent(70)) return;
  const int doing = dice_.Below(10);
  if (doing < 3) {
    Note(AnyBook().Renew(key, lease.order, lease.lease));
  } else if (doing < 5 && lease.role == life::Role::kTrain && worker.committed < 8) {
    const Log log(ClaimOf(worker));
    const int size = worker.committed + 1 + dice_.Below(3);
    const auto proof = worker.committed == 0
                           ? std::vector<Digest>()
                           : log.Proof(static_cast<std::size_t>(worker.committed), static_cast<std::size_t>(size));
    const Status done = AnyBook().Commit(
        key, lease.order,
        {.lease = lease.lease,
         .note = SignCheckpoint(log.Head(worker.number, static_cast<std::size_t>(size)), KeyOfWorker(worker.number)),
         .proof = proof});
    Note(done);
    if (done)
      worker.committed = size;
    else if (!done.error().system && !done.error().unknown_outcome)
      worker.lease.reset();
    // A checkpoint whose fate is unknown is sent again as it is, not followed by another.
    else if (done.error().unknown_outcome) {
      const auto again = AnyBook().Commit(
          key, lease.order,
          {.lease = lease.lease,
           .note = SignCheckpoint(log.Head(worker.number, static_cast<std::size_t>(size)), KeyOfWorker(worker.number)),
           .proof = proof});
      if (again)
        worker.committed = size;
      else
        worker.lease.reset();  // it starts over, with what it is told
    }
  } else if (doing == 5 && dice_.Percent(10)) {
    Note(AnyBook().GiveBack(key, lease.order, {.lease = lease.lease, .why = life::Ending::kGivenBack}));
    worker.lease.reset();
  } else {
    Finish(worker);
  }
}

void World::ActAs(Client& client) {
  const auto account = "client" + std::to_string(&client - clients_.data());
  if (!client.submitted || dice_.Percent(5)) {
    const auto id = AnyBook().Submit(account, client.envelope);
    if (id)
      client.submitted = true;
    else
      Note(tl::unexpected(id.error()));
    return;
  }
  if (client.gives_up && dice_.Percent(10)) Note(AnyBook().Cancel(client.order, "client"));
  const auto chapter = AnyBook().Read(client.order, client.life.size(), 1 << 20);
  if (!chapter) return Note(tl::unexpected(chapter.error()));
  const auto head = OpenCheckpoint(chapter->checkpoint, CoordinatorKey().verify_key(), "head");
  if (!head) return Complain(head.error().message);
  if (client.life.size() > 0 && client.life.size() < chapter->size) {
    const Status grown =
        VerifyConsistency(client.leaves.size(), TreeRoot(client.leaves), head->size, head->root, chapter->proof);
    if (!grown) return Complain("the life was rewritten: " + grown.error().message);
  }
  for (const std::string& text : chapter->entries) {
    const auto entry = life::ParseEntry(text, "entry");
    if (!entry) return Complain(entry.error().message);
    if (const Status applied = client.life.Apply(*entry); !applied)
      return Complain("a client reads what cannot be: " + applied.error().message);
    client.leaves.push_back(LeafHash(AsBytes(text)));
  }
  if (client.leaves.size() == head->size && TreeRoot(client.leaves) != head->root)
    Complain("the head is not that of the entries");
  if (client.sealed && dice_.Percent(50)) JudgeOwn(client);
}

// Whoever differs from an honest party is convicted; among liars alone all but one are.
life::Judged World::Decide(const life::Life& seen, const std::vector<life::LeaseNumber>& among) {
  life::Judged judged{.among = among, .evidence = {DigestOf("evidence").hex()}, .decided = true};
  const Worker* best = nullptr;
  for (const life::LeaseNumber number : judged.among) {
    const Worker* worker = Find(seen.Find(number)->worker);
    if (best == nullptr || ClaimOf(*worker) < ClaimOf(*best)) best = worker;
  }
  for (const life::LeaseNumber number : judged.among) {
    const Worker* worker = Find(seen.Find(number)->worker);
    if (ClaimOf(*worker) == ClaimOf(*best)) continue;
    (!calm_ && dice_.Percent(20) ? judged.silent : judged.convicted).push_back(number);
  }
  if (judged.convicted.empty()) judged.evidence.clear();
  if (!calm_ && dice_.Percent(5)) judged.decided = false;
  ++tally_.disputes;
  return judged;
}

void World::ActAsReferee() {
  const std::string holder = "process" + std::to_string(dice_.Below(2));
  const auto taken = AnyBook().TakeDispute(holder);
  if (!taken) return Note(tl::unexpected(taken.error()));
  if (!*taken) return;
  const std::string& order = (*taken)->order;
  if (std::any_of(clients_.begin(), clients_.end(),
                  [&](const Client& client) { return client.order == order && client.sealed; }))
    Complain("a coordinator is given the dispute of a sealed order");
  if (!calm_ && dice_.Percent(20)) return;  // killed before it was over
  if (dice_.Percent(30)) {
    const auto held = AnyBook().HoldDispute(holder, order);
    if (held && !*held && calm_) Complain("a dispute is lost by who holds it");
  }
  if (dice_.Percent(10)) return Note(AnyBook().DropDispute(holder, order));
  const auto chapter = AnyBook().Read(order, 0, 1 << 20);
  if (!chapter) return;
  life::Life seen;
  for (const std::string& text : chapter->entries) Note(seen.Apply(*life::ParseEntry(text, "entry")));
  Note(AnyBook().Judge(holder, order, Decide(seen, (*taken)->among)));
}

// The client of a sealed order, by what it has read of its life; what it says may come twice, or too late.
void World::JudgeOwn(Client& client) {
  const auto among = life::WantedBy(client.life).dispute;
  if (among.empty()) return;
  life::Judged judged = Decide(client.life, among);
  const auto account = "client" + std::to_string(&client - clients_.data());
  if (AnyBook().JudgeSealed(account, client.order, judged)) Complain("a sealed order is judged without its client's signature");
  judged.signature = life::SignRuling(client.life, judged, KeyOf(account));
  if (AnyBook().JudgeSealed("client9", client.order, judged)) Complain("somebody else judges a sealed order");
  Note(AnyBook().JudgeSealed(account, client.order, judged));
  if (dice_.Percent(20)) Note(AnyBook().JudgeSealed(account, client.order, judged));
}

void World::Act() {
  ++tally_.acts;
  for (Coordinator& coordinator : coordinators_) coordinator.clock->Pass(dice_.Below(4'000));
  if (!calm_ && dice_.Percent(1)) {
    Coordinator& fallen = coordinators_[dice_.Below(2)];
    Start(fallen);
    ++tally_.restarts;
  }
  if (!calm_ && dice_.Percent(1)) {
    Coordinator& astray = coordinators_[dice_.Below(2)];
    astray.clock->SetWall(astray.clock->WallMs() + (dice_.Below(7) - 3) * 3'600'000LL);
  }
  const int who = dice_.Below(10);
  if (who < 6)
    ActAs(workers_[static_cast<std::size_t>(dice_.Below(static_cast<int>(workers_.size())))]);
  else if (who < 8)
    ActAs(clients_[static_cast<std::size_t>(dice_.Below(static_cast<int>(clients_.size())))]);
  else if (who < 9)
    Note(AnyBook().Sweep());
  else
    ActAsReferee();
}

std::string World::Play(Tally& tally) {
  const int stormy = 60 + dice_.Below(200);
  for (int i = 0; i < stormy && wrong_.empty(); ++i) Act();
  calm_ = true;
  // Enough honest workers for whatever is still wanted.
  for (int i = 0; i < kLateWorkers && wrong_.empty(); ++i) {
    const int number = static_cast<int>(workers_.size());
    workers_.push_back({.number = number});
    AddWorker(number);
  }
  const auto open = [&] {
    return std::any_of(clients_.begin(), clients_.end(), [](const Client& client) { return !client.life.decision(); });
  };
  int patience = 20'000;
  while (wrong_.empty() && open() && patience-- > 0) Act();
  if (wrong_.empty() && open()) Complain("an order is never decided");
  if (wrong_.empty()) CheckEnd(tally);
  tally.orders += static_cast<std::int64_t>(clients_.size());
  tally.acts += tally_.acts;
  tally.faults += tally_.faults;
  tally.restarts += tally_.restarts;
  tally.leases += tally_.leases;
  tally.disputes += tally_.disputes;
  return wrong_;
}

void World::CheckEnd(Tally& tally) {
  for (const Client& client : clients_) {
    const life::Decided& decided = *client.life.decision();
    ++tally.verdicts[static_cast<int>(decided.verdict)];
    bool honest_run = false;
    std::int64_t given = 0;
    for (const auto& [number, lease] : client.life.leases()) {
      const Worker* worker = Find(lease.worker);
      const bool honest = ClaimOf(*worker) == 0;
      if (lease.convicted && honest) Complain("an honest worker is convicted");
      if (lease.role == life::Role::kTrain && lease.receipt && honest && lease.state == life::Lease::State::kHeld)
        honest_run = true;
      if (lease.role == life::Role::kTrain && lease.challenges == 0) ++given;
      if (lease.state == life::Lease::State::kOpen) Complain("a lease is open after the decision");
      const auto& sealed = client.life.order().sealed;
      const std::string recipient = RecipientOf("worker" + std::to_string(worker->number)).ToString();
      if (!sealed.empty() && std::find(sealed.begin(), sealed.end(), recipient) == sealed.end())
        Complain("a sealed order is leased to a worker that cannot open it");
    }
    if (given > client.life.order().policy.attempts) Complain("more leases than attempts");
    if (decided.lease != 0 && honest_run && ClaimOf(*Find(client.life.Find(decided.lease)->worker)) != 0)
      Complain("a liar's model is delivered though an honest run is held");
  }
  const Status rows = database_->Read([&](store::Transaction& t) -> Status {
    ASSAY_ASSIGN(const store::Rows convicted, t.Run("SELECT vkey FROM workers WHERE evidence <> ''"));
    for (const store::Row& row : convicted) {
      ASSAY_ASSIGN(const std::string vkey, row.Text(0));
      if (ClaimOf(*Find(vkey)) == 0) Complain("an honest worker's key is convicted in the table of workers");
    }
    ASSAY_ASSIGN(const store::Rows left, t.Run("SELECT COUNT(*) FROM leases WHERE open = 1"));
    ASSAY_ASSIGN(const std::int64_t open, left[0].Integer(0));
    if (open != 0) Complain("a lease is open in the table of leases");
    ASSAY_ASSIGN(const store::Rows wants, t.Run("SELECT COUNT(*) FROM wants"));
    ASSAY_ASSIGN(const std::int64_t wanted, wants[0].Integer(0));
    if (wanted != 0) Complain("something is wanted after the decision");
    return {};
  });
  if (!rows) Complain(rows.error().message);
}

}  // namespace assay::testkit
