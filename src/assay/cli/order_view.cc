#include "assay/cli/order_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "assay/base/quote.h"
#include "assay/cli/colour.h"
#include "assay/cli/exit_status.h"
#include "assay/cli/text.h"
#include "assay/life/fields.h"
#include "assay/life/report.h"
#include "assay/life/wanted.h"

namespace assay::cli {
namespace {

constexpr double kBarInterval_s = 0.1;
constexpr double kLineInterval_s = 5;
constexpr double kSmoothing = 0.3;  // weight of the latest sample's time
constexpr double kStale_s =
    10;  // without a sample, before nothing is foretold from those that came: workers send one every second or so
constexpr double kPatience_s = 3;  // a worker that is free takes up what is wanted sooner
constexpr std::size_t kMaxWords = 300;
constexpr std::size_t kBarCells = 24;

// At most so much of somebody's words, in which no escape (\xNN) is cut in two.
std::string Shortened(std::string line) {
  if (line.size() <= kMaxWords) return line;
  constexpr std::size_t kEscape = 4;
  const std::size_t escape = line.rfind('\\', kMaxWords - 1);
  line.resize(escape != std::string::npos && escape + kEscape > kMaxWords ? escape : kMaxWords);
  return line + "…";
}

// Whether leases were given back for one reason ("memory: …", though the amounts may differ), and which; empty: for several, or none was.
std::string ReasonOf(const std::vector<std::string>& given_back) {
  const auto kind = [](const std::string& words) { return words.substr(0, words.find(':')); };
  if (given_back.empty() || given_back.back().empty()) return "";
  for (const std::string& words : given_back) {
    if (kind(words) != kind(given_back.back())) return "";
  }
  return fmt::format("; {} given back: {}",
                     given_back.size() == 1 ? "a lease was" : fmt::format("{} leases were", given_back.size()),
                     Shortened(given_back.back()));
}

// Keys are long; their names and hashes tell them apart.
std::string Short(const std::string& vkey) {
  const auto key = VerifyKey::Parse(vkey);
  return key ? key->id() : OneLine(vkey);
}

std::string Words(const std::string& words) {
  if (words.empty()) return "";
  return ": " + Shortened(OneLine(words));
}

std::string Leases(const std::vector<life::LeaseNumber>& numbers, const life::Life& life) {
  std::string text;
  for (const life::LeaseNumber number : numbers) {
    const life::Lease* lease = life.Find(number);
    text += fmt::format("{}{} (lease {})", text.empty() ? "" : ", ", lease != nullptr ? Short(lease->worker) : "?", number);
  }
  return text;
}

struct Teller {
  const life::Life& life;
  std::string operator()(const life::Submitted&) const { return fmt::format("order {} is submitted", life.order().id); }
  std::string operator()(const life::Leased& event) const {
    if (event.role == life::Role::kAudit)
      return fmt::format("lease {}: {} audits the run of lease {}", event.lease, Short(event.worker), event.of);
    return fmt::format("lease {}: {} trains{}", event.lease, Short(event.worker),
                       event.of != 0 ? fmt::format(", to make good its audit (lease {})", event.of) : "");
  }
  std::string operator()(const life::Committed& event) const {
    return fmt::format("lease {}: a part of its log is committed to", event.lease);
  }
  std::string operator()(const life::Released& event) const {
    return fmt::format("lease {}: {}{}", event.lease, life::Name(event.why), Words(event.words));
  }
  std::string operator()(const life::Received& event) const {
    return fmt::format("lease {}: the run is finished and its receipt signed", event.lease);
  }
  std::string operator()(const life::Audited& event) const {
    const life::Lease* lease = life.Find(event.lease);
    const bool known = lease != nullptr && lease->finding;
    return fmt::format("lease {}: the audit says {}", event.lease, known ? life::Name(*lease->finding) : "something");
  }
  std::string operator()(const life::Judged& event) const {
    std::string text = event.decided ? "the dispute is decided" : "the dispute is undecided";
    if (!event.convicted.empty()) text += fmt::format("; convicted: {}", Leases(event.convicted, life));
    if (!event.silent.empty()) text += fmt::format("; gave no answer: {}", Leases(event.silent, life));
    // Who is meant has just been said.
    std::string_view words = event.words;
    if (event.convicted.size() + event.silent.size() == 1) {
      const auto& named = event.convicted.empty() ? event.silent : event.convicted;
      if (const std::string whose = fmt::format("lease {}: ", named.front()); words.starts_with(whose))
        words.remove_prefix(whose.size());
    }
    return text + Words(std::string(words));
  }
  std::string operator()(const life::Waived& event) const {
    return fmt::format("lease {}: the run goes unchecked; its worker has {} clean runs behind it", event.lease, event.record);
  }
  std::string operator()(const life::Cancelled& event) const { return fmt::format("cancelled by the {}", event.by); }
  std::string operator()(const life::Decided& event) const {
    return fmt::format("decided: {}{}", life::Name(event.verdict), Words(event.words));
  }
};

double NumberOf(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : -1;
}

std::string ProviderOf(const life::Life& life) {
  const life::Lease* lease = life.decision() ? life.Find(life.decision()->lease) : nullptr;
  return lease != nullptr ? lease->worker : std::string();
}

// Of the run that is delivered, signed by its worker and checked with the life; null where none is.
const Receipt* ReceiptOf(const life::Life& life) {
  const life::Lease* lease = life.decision() ? life.Find(life.decision()->lease) : nullptr;
  return lease != nullptr && lease->receipt ? &*lease->receipt : nullptr;
}

std::optional<float> LossOf(const Receipt* receipt) {
  if (receipt == nullptr || receipt->steps < 1) return std::nullopt;
  return std::bit_cast<float>(receipt->loss_bits);
}

std::string ResultText(const life::Life& life) {
  const Receipt* receipt = ReceiptOf(life);
  if (receipt == nullptr) return "";
  std::string text = fmt::format("result      steps {}", receipt->steps);
  const std::optional<float> loss = LossOf(receipt);
  text += loss ? fmt::format(", last loss {:.6f}\n", *loss) : "\n";
  if (loss && !std::isfinite(*loss)) {
    text += fmt::format("{} the last loss is not a finite number: this is what the job gives, and the model is of no use\n",
                        PaintedWord("warning", 11, Tone::kBad, stdout));
  }
  return text;
}

std::vector<const life::Lease*> Convicted(const life::Life& life) {
  std::vector<const life::Lease*> out;
  for (const auto& [number, lease] : life.leases()) {
    if (lease.convicted) out.push_back(&lease);
  }
  return out;
}

}  // namespace

std::string Sentence(const life::Entry& entry, const life::Life& life) { return std::visit(Teller{life}, entry.event); }

std::string WaitsFor(const life::Life& life) {
  const life::Wanted wanted = life::WantedBy(life);
  const std::string_view more = life.leases().empty() ? "" : " more";
  if (wanted.runs == 1) {
    return fmt::format("waiting for a worker: this order needs one{} run, by a key that has had no lease in it", more);
  }
  if (wanted.runs > 1) {
    return fmt::format("waiting for workers: this order needs {}{} runs, by keys that have had no lease in it", wanted.runs,
                       more);
  }
  if (!wanted.audits.empty()) {
    return fmt::format(
        "waiting for a worker: this order needs an audit of the run of lease {}, by a key that has had no lease in it",
        wanted.audits.front());
  }
  if (!wanted.challenges.empty()) {
    return fmt::format("waiting for the auditor of lease {}, which refuted a run: this order needs its own run",
                       wanted.challenges.front());
  }
  return "";
}

void OrderView::Entry(const life::Entry& entry, const life::Life& life, double now_s) {
  if (const auto* released = std::get_if<life::Released>(&entry.event);
      released != nullptr && released->why == life::Ending::kGivenBack)
    given_back_.push_back(OneLine(released->words));
  std::string waits_for = WaitsFor(life);
  if (!waits_for.empty()) waits_for += ReasonOf(given_back_);
  if (waits_for != waits_for_) {
    waits_for_ = std::move(waits_for);
    waits_since_s_ = now_s;
    waiting_said_ = false;
  }
  std::erase_if(works_, [&](const auto& work) {
    const life::Lease* lease = life.Find(work.first);
    return lease == nullptr || lease->state != life::Lease::State::kOpen;
  });
  // A worker commits every few seconds; only the first time is news.
  if (std::holds_alternative<life::Committed>(entry.event)) return;
  Say(Sentence(entry, life));
}

void OrderView::Sample(const OrderedJson& sample, double now_s) {
  const std::int64_t lease = life::CountOf(sample, "lease");
  if (lease < 1) return;
  Work& work = works_[lease];
  work.heard_s = now_s;
  work.silence_said = false;
  const std::int64_t step = life::CountOf(sample, "step");
  work.phase = OneLine(life::TextOf(sample, "phase")).substr(0, 16);
  work.steps = std::max<std::int64_t>(0, life::CountOf(sample, "steps"));
  if (const auto loss = sample.find("loss"); loss != sample.end() && loss->is_number()) {
    work.loss = NumberOf(sample, "loss");
    work.has_loss = true;
  }
  if (step > work.step && work.since_s > 0) {
    const double seconds = (now_s - work.since_s) / static_cast<double>(step - work.step);
    work.seconds_per_step =
        work.seconds_per_step == 0 ? seconds : work.seconds_per_step + kSmoothing * (seconds - work.seconds_per_step);
  }
  if (step != work.step || work.since_s == 0) work.since_s = now_s;
  work.step = std::max<std::int64_t>(0, step);
  Draw(Line(now_s), Share(), now_s);
}

void OrderView::Tick(double now_s) {
  if (!waits_for_.empty() && !waiting_said_ && now_s - waits_since_s_ >= kPatience_s) {
    waiting_said_ = true;
    Say(waits_for_);
  }
  if (mode_ == ProgressMode::kBar) {
    Draw(Line(now_s), Share(), now_s);
    return;
  }
  // Lines are for what happens: that somebody fell silent is one, and that it still is, is not.
  for (auto& [lease, work] : works_) {
    if (work.silence_said || now_s - work.heard_s < kStale_s) continue;
    work.silence_said = true;
    Say(fmt::format("lease {}: no news for {}", lease, Duration(now_s - work.heard_s)));
  }
}

// Of whoever is furthest behind: the order waits for all.
double OrderView::Share() const {
  double share = 1;
  for (const auto& [lease, work] : works_) {
    if (work.steps > 0)
      share = std::min(share, static_cast<double>(std::min(work.step, work.steps)) / static_cast<double>(work.steps));
  }
  return share;
}

std::string OrderView::Line(double now_s) const {
  std::string text;
  for (const auto& [lease, work] : works_) {
    std::string part = fmt::format("lease {} {}", lease, work.phase.empty() ? "works" : work.phase);
    if (work.steps > 0)
      part += fmt::format(" {}/{} {}%", work.step, work.steps, 100 * std::min(work.step, work.steps) / work.steps);
    if (work.has_loss && work.step > 0) part += fmt::format(" loss {:.4f}", work.loss);
    if (now_s - work.heard_s >= kStale_s) {
      part += fmt::format(" no news for {}", Duration(now_s - work.heard_s));
    } else if (work.seconds_per_step > 0 && work.steps > work.step)
      part += fmt::format(" ETA {}", Duration(static_cast<double>(work.steps - work.step) * work.seconds_per_step));
    text += (text.empty() ? "" : "   ") + part;
  }
  return text;
}

void OrderView::Transfer(const std::string& what, std::uint64_t done, std::uint64_t total, double now_s) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  Draw(fmt::format("{} {} of {} {}%", what, ByteCount(static_cast<double>(done)), ByteCount(static_cast<double>(total)),
                   static_cast<int>(100 * share)),
       share, now_s);
}

void OrderView::Note(const std::string& text) {
  Erase();
  fmt::print(stream_, "assay: {}\n", OneLine(text));
}

void OrderView::Say(const std::string& line) {
  if (mode_ == ProgressMode::kQuiet) return;
  Erase();
  fmt::print(stream_, "{}\n", line);
}

void OrderView::Draw(const std::string& line, double share, double now_s) {
  if (mode_ == ProgressMode::kQuiet || line.empty()) return;
  if (mode_ == ProgressMode::kLines) {
    // What is over before the first line is due needs none.
    if (shown_s_ == 0) shown_s_ = now_s;
    if (now_s - shown_s_ < kLineInterval_s) return;
    shown_s_ = now_s;
    fmt::print(stream_, "{}\n", line);
    return;
  }
  if (now_s - shown_s_ < kBarInterval_s) return;
  shown_s_ = now_s;
  const std::size_t width = TerminalWidth(stream_) - 1;
  std::string text = line.substr(0, width);
  if (text.size() + kBarCells + 3 <= width) {
    const auto full = std::min(kBarCells, static_cast<std::size_t>(share * static_cast<double>(kBarCells)));
    text = fmt::format("[{:-<{}}] {}", std::string(full, '#'), kBarCells, text);
  }
  fmt::print(stream_, "\r{}\x1b[K", text);
  std::fflush(stream_);
  drawn_ = true;
}

void OrderView::Erase() {
  if (drawn_) fmt::print(stream_, "\r\x1b[K");
  drawn_ = false;
}

void OrderView::Finish() {
  Erase();
  std::fflush(stream_);
}

int ExitStatusOf(const life::Life& life) {
  if (!life.decision()) return kExitUndecided;
  switch (life.decision()->verdict) {
    case life::Verdict::kVerified:
    case life::Verdict::kRefereed: return kExitOk;
    case life::Verdict::kUndecided: return kExitUndecided;
    default: return kExitRefuted;
  }
}

OrderedJson OutcomeJson(const life::Life& life) {
  const auto& decision = life.decision();
  const std::string provider = ProviderOf(life);
  OrderedJson convicted = OrderedJson::array(), silent = OrderedJson::array();
  for (const life::Lease* lease : Convicted(life)) convicted.push_back(lease->worker);
  for (const life::Judged& judged : life.disputes()) {
    for (const life::LeaseNumber number : judged.silent) silent.push_back(life.Find(number)->worker);
  }
  const Receipt* receipt = ReceiptOf(life);
  const std::optional<float> loss = LossOf(receipt);
  return {{"id", life.order().id},
          {"job_id", life.order().job.hex()},
          {"verdict", decision ? OrderedJson(life::Name(decision->verdict)) : OrderedJson(nullptr)},
          {"provider", provider.empty() ? OrderedJson(nullptr) : OrderedJson(provider)},
          {"convicted", convicted},
          {"silent", silent},
          {"words", decision ? OrderedJson(decision->words) : OrderedJson(nullptr)},
          {"steps", receipt != nullptr ? OrderedJson(receipt->steps) : OrderedJson(nullptr)},
          {"loss", loss && std::isfinite(*loss) ? OrderedJson(*loss) : OrderedJson(nullptr)},
          {"trusted", client::TakenOnTrust(life)},
          {"size", life.size()}};
}

std::string OutcomeText(const life::Life& life) {
  const auto& decision = life.decision();
  std::string text = fmt::format("order       {}\n", life.order().id);
  const std::string verdict = decision ? std::string(life::Name(decision->verdict)) : "not decided yet";
  text += fmt::format("verdict     {}{}\n", Painted(verdict, ToneOf(ExitStatusOf(life)), stdout),
                      decision ? Words(decision->words) : "");
  if (const std::string provider = ProviderOf(life); !provider.empty()) text += fmt::format("provider    {}\n", provider);
  for (const life::Lease* lease : Convicted(life))
    text += fmt::format("{} {} (lease {}), by evidence checked here\n", PaintedWord("convicted", 11, Tone::kBad, stdout),
                        lease->worker, lease->number);
  for (const std::string& trusted : client::TakenOnTrust(life)) text += fmt::format("on trust    {}\n", trusted);
  return text + ResultText(life);
}

}  // namespace assay::cli
