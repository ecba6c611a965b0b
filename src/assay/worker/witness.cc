#include "assay/worker/witness.h"

#include <algorithm>
#include <new>
#include <utility>

#include "assay/seal/seal.h"

namespace assay::worker {
namespace {

constexpr std::size_t kMaxStands = 2;  // runs that are open at once
constexpr std::uint64_t kMaxOrderFile = 1 << 20;
constexpr std::int64_t kReopened = 64;  // bouts for referees that nobody named; nobody else may ask here

Bytes BytesOfText(std::string_view text) { return {text.begin(), text.end()}; }

NoAnswer Failed(const dispute::Answerer::Failure& failure) {
  using Kind = dispute::Answerer::Failure::Kind;
  switch (failure.kind) {
    case Kind::kMalformed: return {NoAnswer::Kind::kNever, failure.why};
    case Kind::kNotOpen: return {NoAnswer::Kind::kNotOpen, failure.why};
    case Kind::kForbidden: return {NoAnswer::Kind::kDenied, failure.why};
    case Kind::kLater: return {NoAnswer::Kind::kLater, failure.why};
    case Kind::kFailed: break;
  }
  return {NoAnswer::Kind::kLater, "this machine failed; ask again"};  // why is nobody else's business
}

// Of a sealed order, about which the coordinator learns nothing from reasons.
std::string_view WhyNot(NoAnswer::Kind kind) {
  switch (kind) {
    case NoAnswer::Kind::kLater: return "ask again";
    case NoAnswer::Kind::kNotOpen: return "no such dispute is open here";
    case NoAnswer::Kind::kDenied: return "this referee is not answered";
    case NoAnswer::Kind::kNever: break;
  }
  return "the question is none";
}

Result<Bytes> SealedTo(const std::string& reply, ByteSpan plain) {
  ASSAY_ASSIGN(const Recipient recipient, Recipient::Parse(reply));
  Bytes sealed;
  ASSAY_TRY(Seal(SpanSource(plain), std::span(&recipient, 1), [&](ByteSpan piece) {
    sealed.insert(sealed.end(), piece.begin(), piece.end());
    return Status();
  }));
  return sealed;
}

}  // namespace

struct Witness::Stand {
  life::Order order;
  Compute compute;
  std::optional<PreparedJob> prepared;
  std::unique_ptr<Testimony> testimony;
  std::unique_ptr<dispute::Answerer> answerer;
};

Witness::Witness(const Site& site, Link& link, std::size_t memory, std::function<void(const std::string&)> answered)
    : site_(site), link_(link), memory_(memory), answered_(std::move(answered)), halt_([this] { link_.Interrupt(); }) {
  thread_ = std::thread([this] { Loop(); });
}

Witness::~Witness() {
  {
    const std::lock_guard lock(mutex_);
    questions_.clear();
  }
  halt_.Stop(Halt::Reason::kLeaving);
  changed_.notify_all();
  thread_.join();
}

void Witness::Ask(Question question) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back(std::move(question));
  }
  changed_.notify_all();
}

void Witness::Forget(const std::string& order) {
  const std::lock_guard lock(stands_mutex_);
  stands_.remove_if([&](const auto& stand) { return stand.first == order; });
}

void Witness::Loop() {
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return halt_.stopped() || !questions_.empty(); });
      if (halt_.stopped()) return;
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    if (site_.craft.answers()) {
      const Answer answer = AnswerTo(question);
      const auto sent = Patiently<void>(halt_, [&] { return link_.Answer(question.id, answer); });
      if (!sent && !halt_.stopped() && site_.say)
        site_.say(fmt::format("order {:.8}: an answer: {}", question.order, sent.error().why));
    }
    answered_(question.id);
  }
}

Witness::Answer Witness::AnswerTo(const Question& question) {
  const auto stand = Find(question.order);
  if (!stand) {
    if (site_.say) site_.say(fmt::format("order {:.8}: cannot be answered for: {}", question.order, stand.error().message));
    return tl::unexpected(NoAnswer{stand.error().system ? NoAnswer::Kind::kLater : NoAnswer::Kind::kNever,
                                   "this worker has no run of this order to answer from"});
  }
  dispute::RunAccount& account = (*stand)->testimony->account();
  dispute::Answerer& answerer = *(*stand)->answerer;
  Answer answer;
  if (question.kind == "receipt") return BytesOfText(account.receipt());
  if (question.kind == "job") {
    answer = account.job();
  } else if (question.kind == "program") {
    answer = account.program();
  } else if (question.kind == "open") {
    const auto id = answerer.Open(question.body);
    answer = id ? Answer(BytesOfText(id->hex())) : tl::unexpected(Failed(id.error()));
  } else if (question.kind == "answer") {
    auto given = answerer.Answer(question.body);
    answer = given ? Answer(*std::move(given)) : tl::unexpected(Failed(given.error()));
  } else {
    return tl::unexpected(NoAnswer{NoAnswer::Kind::kNever, "expected receipt, job, program, open or answer"});
  }
  if ((*stand)->order.sealed.empty()) return answer;
  if (!answer) return tl::unexpected(NoAnswer{answer.error().kind, std::string(WhyNot(answer.error().kind))});
  auto sealed = SealedTo((*stand)->order.reply, *answer);
  if (!sealed) return tl::unexpected(NoAnswer{NoAnswer::Kind::kLater, "this machine failed; ask again"});
  return *std::move(sealed);
}

Result<std::shared_ptr<Witness::Stand>> Witness::Find(const std::string& order) {
  {
    const std::lock_guard lock(stands_mutex_);
    const auto found = std::ranges::find(stands_, order, &std::pair<std::string, std::shared_ptr<Stand>>::first);
    if (found != stands_.end()) {
      stands_.splice(stands_.begin(), stands_, found);
      return found->second;
    }
    while (stands_.size() >= kMaxStands) stands_.pop_back();
  }
  std::shared_ptr<Stand> stand;
  try {
    ASSAY_ASSIGN(stand, Open(order));
  } catch (const std::bad_alloc&) {
    Error error{.message = "memory: there is too little of it"};
    error.system = true;
    return tl::unexpected(error);
  }
  const std::lock_guard lock(stands_mutex_);
  stands_.emplace_front(order, stand);
  return stand;
}

Result<std::shared_ptr<Witness::Stand>> Witness::Open(const std::string& order) const {
  ASSAY_ASSIGN(const std::vector<LeaseName> leases, site_.place.Leases());
  for (const LeaseName& name : leases) {
    if (name.order != order) continue;
    const auto folder = LeaseFolder::Find(site_.place, name);
    if (!folder || folder->lease().role != life::Role::kTrain || !Exists(JoinPath(folder->run_path(), "receipt.json")))
      continue;
    auto stand = std::make_shared<Stand>();
    ASSAY_ASSIGN(const Bytes envelope, ReadFile(folder->order_path(), kMaxOrderFile));
    ASSAY_ASSIGN(stand->order, CheckOrder({envelope.begin(), envelope.end()}, name, site_.coordinator));
    ASSAY_ASSIGN(const Job job, LoadOrderJob(stand->order, folder->files_path()));
    ASSAY_ASSIGN(stand->compute, site_.compute(job));
    const platform::Room room = platform::RoomFor(stand->order.limits, site_.offered);
    Allowance allowance(room.memory, std::max<std::int64_t>(1, platform::LeftHere(folder->path()).memory),
                        [this] { return halt_.stopped(); });
    ASSAY_ASSIGN(stand->prepared, PrepareOrder(stand->order, folder->files_path(), *stand->compute.pool, allowance));
    ASSAY_ASSIGN(stand->testimony,
                 site_.craft.Testify(*stand->prepared, folder->run_path(), site_.key, stand->compute, memory_));
    const bool sealed = !stand->order.sealed.empty();
    ASSAY_ASSIGN(const VerifyKey referee, VerifyKey::Parse(sealed ? stand->order.client : stand->order.coordinator));
    dispute::RunAccount& account = stand->testimony->account();
    ASSAY_ASSIGN(const dispute::Budget bout, account.Bill());
    ASSAY_ASSIGN(dispute::Docket docket,
                 dispute::DocketOf(
                     account, {.pinned = {referee.point()}, .bout = bout, .open_to_all = dispute::Times(kReopened, bout)}));
    stand->answerer = std::make_unique<dispute::Answerer>(account, stand->testimony->key(), std::move(docket));
    return stand;
  }
  return Err("there is no finished run");
}

}  // namespace assay::worker
