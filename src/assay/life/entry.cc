#include "assay/life/entry.h"

#include <array>

#include "assay/life/fields.h"
#include "assay/life/names.h"

namespace assay::life {
namespace {

constexpr Names<Role, 2> kRoles{{"train", "audit"}};
constexpr Names<Verdict, 5> kVerdicts{{"verified", "refereed", "undecided", "withheld", "failed"}};
constexpr Names<Ending, 5> kEndings{{"expired", "given back", "failed", "cancelled", "lost"}};
// In the order of Event.
constexpr std::array<std::string_view, std::variant_size_v<Event>> kKinds = {
    "submitted", "leased", "committed", "released", "received", "audited", "judged", "waived", "cancelled", "decided"};

// One pair of functions for each kind: its keys after `kind`, and back.
void Write(const Submitted& e, Json& to) { to["order"] = e.order; }
void Read(const Json& in, Submitted& e) { e.order = TextOf(in, "order"); }

void Write(const Leased& e, Json& to) {
  to["lease"] = e.lease;
  to["role"] = Name(e.role);
  to["worker"] = e.worker;
  to["of"] = e.of;
  to["nonce"] = e.nonce;
}
void Read(const Json& in, Leased& e) {
  e = {.lease = CountOf(in, "lease"),
       .role = kRoles.Find(TextOf(in, "role")),
       .worker = TextOf(in, "worker"),
       .of = CountOf(in, "of"),
       .nonce = TextOf(in, "nonce")};
}

void Write(const Committed& e, Json& to) {
  to["lease"] = e.lease;
  to["note"] = e.note;
  to["proof"] = Hex(e.proof);
}
void Read(const Json& in, Committed& e) {
  e = {.lease = CountOf(in, "lease"), .note = TextOf(in, "note"), .proof = HashesOf(in, "proof")};
}

void Write(const Released& e, Json& to) {
  to["lease"] = e.lease;
  to["why"] = Name(e.why);
  to["words"] = e.words;
}
void Read(const Json& in, Released& e) {
  e = {.lease = CountOf(in, "lease"), .why = kEndings.Find(TextOf(in, "why")), .words = TextOf(in, "words")};
}

void Write(const Received& e, Json& to) {
  to["lease"] = e.lease;
  to["receipt"] = e.receipt;
  to["proof"] = Hex(e.proof);
  to["model"] = e.model;
}
void Read(const Json& in, Received& e) {
  e = {.lease = CountOf(in, "lease"),
       .receipt = TextOf(in, "receipt"),
       .proof = HashesOf(in, "proof"),
       .model = CountOf(in, "model")};
}

void Write(const Audited& e, Json& to) {
  to["lease"] = e.lease;
  to["report"] = e.report;
}
void Read(const Json& in, Audited& e) { e = {.lease = CountOf(in, "lease"), .report = TextOf(in, "report")}; }

void Write(const Judged& e, Json& to) {
  to["among"] = e.among;
  to["evidence"] = e.evidence;
  to["convicted"] = e.convicted;
  to["silent"] = e.silent;
  to["outcome"] = e.decided ? "decided" : "undecided";
  to["words"] = e.words;
  to["signature"] = e.signature;
}
void Read(const Json& in, Judged& e) {
  e = {.among = CountsOf(in, "among"),
       .evidence = TextsOf(in, "evidence"),
       .convicted = CountsOf(in, "convicted"),
       .silent = CountsOf(in, "silent"),
       .decided = TextOf(in, "outcome") == "decided",
       .words = TextOf(in, "words"),
       .signature = TextOf(in, "signature")};
}

void Write(const Waived& e, Json& to) {
  to["lease"] = e.lease;
  to["record"] = e.record;
  to["draw"] = e.draw;
}
void Read(const Json& in, Waived& e) {
  e = {.lease = CountOf(in, "lease"), .record = CountOf(in, "record"), .draw = TextOf(in, "draw")};
}

void Write(const Cancelled& e, Json& to) { to["by"] = e.by; }
void Read(const Json& in, Cancelled& e) { e.by = TextOf(in, "by"); }

void Write(const Decided& e, Json& to) {
  to["verdict"] = Name(e.verdict);
  to["lease"] = e.lease;
  to["words"] = e.words;
}
void Read(const Json& in, Decided& e) {
  e = {.verdict = kVerdicts.Find(TextOf(in, "verdict")), .lease = CountOf(in, "lease"), .words = TextOf(in, "words")};
}

// The event of kind number `kind`, counted from `kFrom`.
template <std::size_t kFrom = 0>
Event ReadEvent(const Json& in, std::size_t kind) {
  if constexpr (kFrom + 1 < std::variant_size_v<Event>) {
    if (kind != kFrom) return ReadEvent<kFrom + 1>(in, kind);
  }
  std::variant_alternative_t<kFrom, Event> event;
  Read(in, event);
  return event;
}

}  // namespace

std::string_view Name(Role role) { return kRoles.Of(role); }
std::string_view Name(Verdict verdict) { return kVerdicts.Of(verdict); }
std::string_view Name(Ending ending) { return kEndings.Of(ending); }

std::string ToText(const Entry& entry) {
  Json to = {{"n", entry.n}, {"at", entry.at}, {"kind", kKinds[entry.event.index()]}};
  std::visit([&](const auto& event) { Write(event, to); }, entry.event);
  return Compact(to);
}

Result<Entry> ParseEntry(std::string_view text, std::string_view what) {
  if (text.size() > kMaxEntryBytes) return Err("{}: has {} bytes, at most {} are allowed", what, text.size(), kMaxEntryBytes);
  const Json in = ParseObject(text);
  const std::string name = TextOf(in, "kind");
  std::size_t kind = 0;
  while (kind < kKinds.size() && kKinds[kind] != name) ++kind;
  if (kind == kKinds.size()) return Err("{}: is no entry of an order's life", what);
  const Entry entry{.n = CountOf(in, "n"), .at = CountOf(in, "at"), .event = ReadEvent(in, kind)};
  if (ToText(entry) != text) return Err("{}: is not in the form of an entry of kind {} (docs/formats/life.md)", what, name);
  return entry;
}

}  // namespace assay::life
