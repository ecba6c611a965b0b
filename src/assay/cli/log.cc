#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/showing.h"
#include "assay/cli/text.h"
#include "assay/run/directory.h"
#include "assay/run/entry_proof.h"
#include "assay/run/log.h"
#include "assay/train/interrupt.h"

namespace assay::cli {
namespace {

constexpr std::int64_t kNoStep = -1;

struct LogOptions {
  std::string run;
  std::int64_t prove = kNoStep;
  ShowingOptions showing;
  bool follow = false;
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

// Sends a run's telemetry to an MLflow server: what the server lacks of it, and with --follow what is added until the run ends.
Result<int> SendToMlflow(const LogOptions& options) {
  auto server = tracking::MlflowServer::FromEnvironment(options.showing.mlflow);
  server.ca_file = options.showing.ca_file;
  ASSAY_ASSIGN(const auto upload, tracking::MlflowUpload::Open(options.run, server, options.showing.experiment));
  const InterruptGuard interrupt;
  bool away = false;
  while (true) {
    const auto told = upload->Round();
    if (!told && (!options.follow || !told.error().passes))
      return Err("{}; the server has {} records of this run", told.error().message, upload->told());
    if (!told && !away) fmt::print(stderr, "{}; it is tried again\n", told.error().message);
    away = !told;
    if (told && (!options.follow || upload->finished())) break;
    for (int i = 0; i < 10 && interrupt.signal() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (interrupt.signal() != 0) return 128 + interrupt.signal();
  }
  if (upload->run_id().empty()) return Err("{}: has no telemetry", options.run);
  if (options.json) {
    fmt::print("{}\n", Dump(OrderedJson{{"mlflow", options.showing.mlflow},
                                        {"experiment", upload->experiment()},
                                        {"run_id", upload->run_id()},
                                        {"records", upload->told()},
                                        {"metrics_sent", upload->metrics_sent()},
                                        {"finished", upload->finished()}}));
    return kExitOk;
  }
  fmt::print("{:<12} {}\n{:<12} {}\n{:<12} {}\n{:<12} {}\n", "server", options.showing.mlflow, "experiment",
             upload->experiment(), "run", upload->run_id(), "sent",
             fmt::format("{} metrics", Grouped(static_cast<std::int64_t>(upload->metrics_sent()))));
  return kExitOk;
}

Result<int> RunLogCommand(const LogOptions& options) {
  if (!options.showing.mlflow.empty()) return SendToMlflow(options);
  if (options.follow) return Err("--follow: belongs to --mlflow URL");
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
      "          assay log runs/mlp --prove 20 --json    entry, inclusion proof and signed checkpoint (docs/formats/log.md)\n"
      "          assay log runs/mlp --mlflow URL         its telemetry, of a finished run or of one that trains, as a run of "
      "an\n"
      "                                                  MLflow server; what the server has already is not sent again");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--prove", options->prove, "Prove the entry of this step")
      .Range(std::int64_t{0}, std::int64_t{0xffffffff})
      .Type("STEP");
  AddMlflowOptions(sub, options->showing);
  sub.Flag("--follow", options->follow, "With --mlflow: go on until the run is finished, also while the server is away");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunLogCommand);
}

}  // namespace assay::cli
