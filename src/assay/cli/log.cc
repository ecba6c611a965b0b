#include <algorithm>
#include <bit>

#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/text.h"
#include "assay/run/directory.h"
#include "assay/run/entry_proof.h"
#include "assay/run/log.h"

namespace assay::cli {
namespace {

constexpr std::int64_t kNoStep = -1;

struct LogOptions {
  std::string run;
  std::int64_t prove = kNoStep;
  bool json = false;
};

// The steps of entries ascend.
Result<std::size_t> IndexOfStep(const RunDirectory& run, const RunLog& log, std::int64_t step) {
  const auto& entries = log.entries();
  const auto after = std::ranges::lower_bound(entries, step, {}, &LogEntry::step);
  if (after != entries.end() && after->step == step) return static_cast<std::size_t>(after - entries.begin());
  if (after == entries.begin()) return Err("{}: the log has no entries", run.log_path());
  const std::string next = after == entries.end() ? "" : fmt::format(" and {}", after->step);
  return Err("{}: the log has no entry for step {}; the nearest {} for step{} {}{}", run.log_path(), step,
             next.empty() ? "is" : "are", next.empty() ? "" : "s", std::prev(after)->step, next);
}

// Everything that somebody needs who has the signer's public key and nothing else.
Result<int> Prove(const LogOptions& options, const RunDirectory& run, const RunLog& log) {
  ASSAY_ASSIGN(const std::size_t index, IndexOfStep(run, log, options.prove));
  const std::string note_path = JoinPath(run.log_path(), "checkpoint");
  ASSAY_ASSIGN(const Bytes note, ReadFile(note_path, kMaxNoteBytes));
  const EntryProof proof = ProveEntry(log, index, std::string(note.begin(), note.end()), run.signer());
  if (options.json) {
    fmt::print("{}\n", ToJson(proof));
    return kExitOk;
  }
  const LogEntry& entry = log.entries()[index];
  fmt::print("{:<12} {} of {}, step {}\n", "entry", index, log.checkpoint().size, entry.step);
  fmt::print("{:<12} {}\n{:<12} {}\n", "state root", entry.state_root.hex(), "leaf", HashOf(entry).hex());
  for (const Digest& hash : proof.hashes) fmt::print("{:<12} {}\n", "proof", hash.hex());
  fmt::print("{:<12} {}\n\n{}", "root", log.checkpoint().root.hex(), proof.checkpoint);
  return kExitOk;
}

Result<int> List(const LogOptions& options, const RunDirectory& run, const RunLog& log) {
  OrderedJson entries = OrderedJson::array();
  std::vector<std::vector<std::string>> rows = {{"step", "loss", "state root", "batch root"}};
  for (const LogEntry& entry : log.entries()) {
    const float loss = std::bit_cast<float>(entry.loss_bits);
    entries.push_back({{"step", entry.step},
                       {"state_root", entry.state_root.hex()},
                       {"batch_root", entry.batch_root.hex()},
                       {"loss", entry.step == 0 ? OrderedJson(nullptr) : OrderedJson(loss)},
                       {"loss_bits", fmt::format("{:08x}", entry.loss_bits)},
                       {"hash", HashOf(entry).hex()}});
    rows.push_back({Grouped(entry.step), entry.step == 0 ? "" : fmt::format("{:.6f}", loss),
                    entry.state_root.hex().substr(0, 16), entry.batch_root.hex().substr(0, 16)});
  }
  if (options.json) {
    const OrderedJson json = {{"signer", run.signer().ToString()},
                              {"origin", log.checkpoint().origin},
                              {"size", log.checkpoint().size},
                              {"root", log.checkpoint().root.hex()},
                              {"entries", entries}};
    fmt::print("{}\n", Dump(json));
    return kExitOk;
  }
  fmt::print("{}\n{:<12} {}\n{:<12} {}\n", Table(rows), "root", log.checkpoint().root.hex(), "signed by", run.signer().id());
  return kExitOk;
}

Result<int> RunLogCommand(const LogOptions& options) {
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.run));
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory));
  return options.prove == kNoStep ? List(options, run, log) : Prove(options, run, log);
}

}  // namespace

void AddLog(Arguments& app, Command& command) {
  auto options = std::make_shared<LogOptions>();
  Subcommand sub = app.Add("log", "The signed log of a run, and proofs that an entry is in it");
  sub.Footer(
      "Signature, tiles, tree and chain of the log are checked before anything is printed. Whether its entries are true,\n"
      "only assay audit can tell.\n"
      "\n"
      "Examples: assay log runs/mlp                      one line per committed step\n"
      "          assay log runs/mlp --prove 20 --json    entry, inclusion proof and signed checkpoint (docs/formats/log.md)");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--prove", options->prove, "Prove the entry of this step")
      .Range(std::int64_t{0}, std::int64_t{0xffffffff})
      .Type("STEP");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunLogCommand);
}

}  // namespace assay::cli
