// A coordinator that lies: it stands before an honest one, has its key, and alters what it says.
//
//   platform_liar --server URL --key COORDINATOR.KEY
//
// prints {"listening":URL} and runs until it is killed. POST /lie/NAME chooses what to lie about from then on; NAME is one of those of kLies. POST /replay with
// {"order","id","reply"} answers with somebody's order under another id, signed by another client, that wants its results for another recipient.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <string>

#include "assay/base/quote.h"
#include "assay/life/fields.h"
#include "assay/life/life.h"
#include "assay/life/ruling.h"
#include "assay/life/wanted.h"
#include "assay/merkle/tree.h"
#include "assay/net/http_client.h"
#include "assay/net/http_server.h"
#include "assay/net/target.h"
#include "assay/sign/key.h"
#include "assay/sign/note.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 13> kLies = {
    "none",
    "verdict",        // another run's model is delivered
    "early",          // verified, before that follows
    "model",          // what comes as a blob is something else
    "fork",           // another history than before, every entry of it possible
    "shorter",        // the last entry is kept back
    "no-evidence",    // somebody is convicted, and nobody may see by what
    "bad-evidence",   // or by something else
    "wrong-convict",  // the evidence convicts the other
    "order",          // another order under the id
    "key",            // another key
    "unsigned",       // nobody signed it
    "referee",        // a sealed order's dispute is judged in the client's place: the other run's worker was silent
};

HttpResponse Text(int status, const std::string& text) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body.assign(text.begin(), text.end());
  return response;
}

std::string Dump(const life::Json& json) { return json.dump(); }

class Liar {
 public:
  Liar(std::string server, SigningKey key)
      : server_(std::move(server)), key_(std::move(key)), other_(SigningKey::Generate("liar")) {}

  HttpResponse Respond(const HttpRequest& request) {
    if (request.target.starts_with("/lie/")) return Choose(request.target.substr(5));
    if (request.target == "/replay") return Replay(request);
    // Events are not relayed: a client asks again by itself.
    if (request.target.ends_with("/events")) return Text(404, R"({"error":"no events","code":"not_found"})");
    Result<HttpResponse> answer = Relay(request);
    if (!answer) return Text(503, Dump({{"error", answer.error().message}, {"code", "later"}}));
    const std::string lie = Current();
    const auto target = ParseTarget(request.target);
    if (!target || answer->status != 200) return *std::move(answer);
    if (request.target == "/v1/coordinator" && lie == "key") {
      return Text(
          200,
          Dump({{"key", other_.verify_key().ToString()}, {"version", "1"}, {"lease_ms", 60000}, {"max_blob_bytes", 1 << 30}}));
    }
    if (target->path.size() == 4 && target->path[3] == "life") return LieAboutLife(lie, *std::move(answer));
    if (target->path.size() == 3 && target->path[1] == "blobs" && request.method == "GET")
      return LieAboutBlob(lie, target->path[2], *std::move(answer));
    return *std::move(answer);
  }

 private:
  HttpResponse Choose(const std::string& lie) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(kLies, lie) == kLies.end()) return Text(404, "{}");
    lie_ = lie;
    return Text(200, "{}");
  }
  HttpResponse Replay(const HttpRequest& request) const {
    const life::Json wish = life::ParseObject({reinterpret_cast<const char*>(request.body.data()), request.body.size()});
    auto order = life::OpenOrder(life::TextOf(wish, "order"), "order");
    if (!order) return Text(400, Dump({{"error", order.error().message}}));
    order->id = life::TextOf(wish, "id");
    order->client = other_.verify_key().ToString();
    order->reply = life::TextOf(wish, "reply");
    return Text(200, Dump({{"order", life::SignOrder(*order, other_)}}));
  }
  std::string Current() {
    const std::lock_guard lock(mutex_);
    return lie_;
  }

  Result<HttpResponse> Relay(const HttpRequest& request) const {
    ASSAY_ASSIGN(const auto client, HttpClient::Create(server_, {.max_response_bytes = std::size_t{1} << 30}));
    HttpCall call{.method = request.method, .path = request.target};
    for (const auto& [name, value] : request.headers) {
      for (const std::string_view kept : {"Authorization", "Content-Type", "Range"}) {
        if (std::ranges::equal(name, kept, [](char a, char b) { return std::tolower(a) == std::tolower(b); }))
          call.headers.emplace_back(name, value);
      }
    }
    ASSAY_ASSIGN(HttpResponse answer, client->Send(call, request.body, 60'000));
    HttpHeaders kept;
    for (auto& [name, value] : answer.headers) {
      if (name.starts_with("Assay-") || name.starts_with("assay-")) kept.emplace_back(name, value);
    }
    answer.headers = std::move(kept);
    return answer;
  }

  HttpResponse LieAboutBlob(const std::string& lie, const std::string& name, HttpResponse answer) {
    const std::lock_guard lock(mutex_);
    const bool is_evidence = std::ranges::find(evidence_, name) != evidence_.end();
    if (lie == "model" && !is_evidence && !answer.body.empty()) answer.body.back() ^= 1;
    if (lie == "no-evidence" && is_evidence) return Text(404, R"({"error":"no such blob","code":"not_found"})");
    if (lie == "bad-evidence" && is_evidence) answer.body.back() ^= 1;
    return answer;
  }

  // The whole life is rewritten, whatever part was asked for, and signed.
  HttpResponse LieAboutLife(const std::string& lie, HttpResponse answer) {
    const life::Json said = life::ParseObject({reinterpret_cast<const char*>(answer.body.data()), answer.body.size()});
    std::vector<life::Entry> entries;
    for (const std::string& text : life::TextsOf(said, "entries")) entries.push_back(*life::ParseEntry(text, "entry"));
    if (life::CountOf(said, "from") != 0 || entries.empty()) return answer;
    Note(entries);
    if (lie == "none" || lie == "model" || lie.ends_with("evidence")) return answer;
    Alter(lie, entries);
    std::vector<std::string> texts;
    std::vector<Digest> leaves;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      entries[i].n = static_cast<std::int64_t>(i);
      texts.push_back(life::ToText(entries[i]));
      leaves.push_back(LeafHash(AsBytes(texts.back())));
    }
    const std::string note = life::TextOf(said, "checkpoint");
    const Checkpoint head{.origin = note.substr(0, note.find('\n')), .size = texts.size(), .root = TreeRoot(leaves)};
    const bool own = lie != "key" && lie != "unsigned";
    return Text(200, Dump({{"from", 0},
                           {"entries", texts},
                           {"size", texts.size()},
                           {"checkpoint", SignCheckpoint(head, own ? key_ : other_)},
                           {"proof", life::Json::array()}}));
  }

  void Note(const std::vector<life::Entry>& entries) {
    const std::lock_guard lock(mutex_);
    for (const life::Entry& entry : entries) {
      if (const auto* judged = std::get_if<life::Judged>(&entry.event))
        evidence_.insert(evidence_.end(), judged->evidence.begin(), judged->evidence.end());
    }
  }

  static life::LeaseNumber OtherRun(const std::vector<life::Entry>& entries, life::LeaseNumber not_this) {
    for (const life::Entry& entry : entries) {
      if (const auto* received = std::get_if<life::Received>(&entry.event); received != nullptr && received->lease != not_this)
        return received->lease;
    }
    return not_this + 1;
  }

  // What a life becomes in which somebody else than the client says how its dispute ended; signed, too, but by another key.
  void Usurp(std::vector<life::Entry>& entries) const {
    life::Life life;
    while (!entries.empty() && !std::holds_alternative<life::Received>(entries.back().event)) entries.pop_back();
    for (const life::Entry& entry : entries) static_cast<void>(life.Apply(entry));
    life::Judged judged{.among = life::WantedBy(life).dispute, .decided = true};
    if (judged.among.size() != 2) return;
    judged.silent = {judged.among.front()};
    judged.signature = life::SignRuling(life, judged, key_);
    const life::Decided decided{.verdict = life::Verdict::kRefereed, .lease = judged.among.back()};
    const std::int64_t at = life.last_time();
    entries.push_back({.n = 0, .at = at, .event = std::move(judged)});
    entries.push_back({.n = 0, .at = at, .event = decided});
  }

  void Alter(const std::string& lie, std::vector<life::Entry>& entries) const {
    auto* decided = std::get_if<life::Decided>(&entries.back().event);
    if (lie == "verdict" && decided != nullptr) {
      decided->lease = OtherRun(entries, decided->lease);
    } else if (lie == "early") {
      std::erase_if(entries, [](const life::Entry& entry) {
        const auto* received = std::get_if<life::Received>(&entry.event);
        return (received != nullptr && received->lease != 1) || std::holds_alternative<life::Judged>(entry.event) ||
               std::holds_alternative<life::Audited>(entry.event);
      });
      entries.back().event = life::Decided{.verdict = life::Verdict::kVerified, .lease = 1};
    } else if (lie == "fork") {
      for (life::Entry& entry : entries) entry.at += 1;
    } else if (lie == "shorter") {
      entries.pop_back();
    } else if (lie == "wrong-convict") {
      for (life::Entry& entry : entries) {
        auto* judged = std::get_if<life::Judged>(&entry.event);
        if (judged == nullptr || judged->convicted.empty()) continue;
        const life::LeaseNumber right = judged->convicted.front();
        judged->convicted = {*std::ranges::find_if(judged->among, [&](life::LeaseNumber number) { return number != right; })};
        if (decided != nullptr) decided->lease = right;
      }
    } else if (lie == "referee") {
      Usurp(entries);
    } else if (lie == "order") {
      auto& submitted = std::get<life::Submitted>(entries.front().event);
      life::Order order = *life::OpenOrder(submitted.order, "order");
      order.client = other_.verify_key().ToString();
      submitted.order = life::SignOrder(order, other_);
    }
  }

  const std::string server_;
  const SigningKey key_, other_;
  std::mutex mutex_;
  std::string lie_ = "none";
  std::vector<std::string> evidence_;
};

int Main(int argc, char** argv) {
  std::string server, key_path;
  for (int i = 1; i + 1 < argc; i += 2) (std::string_view(argv[i]) == "--server" ? server : key_path) = argv[i + 1];
  auto key = ReadSigningKey(key_path);
  if (!key) {
    fmt::print(stderr, "platform_liar: {}\n", key.error().message);
    return 2;
  }
  Liar liar(server, *std::move(key));
  const auto started = HttpServer::Start({.workers = 8, .max_body_bytes = std::size_t{1} << 30},
                                         [&](const HttpRequest& request) { return liar.Respond(request); });
  if (!started) {
    fmt::print(stderr, "platform_liar: {}\n", started.error().message);
    return 2;
  }
  fmt::print("{}\n", Dump({{"listening", (*started)->url()}}));
  std::fflush(stdout);
  for (;;) ::pause();
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) { return assay::Main(argc, argv); }
