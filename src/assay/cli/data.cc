#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "assay/base/quote.h"
#include "assay/cli/byte_progress.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/text.h"
#include "assay/data/pack.h"

namespace assay::cli {
namespace {

struct DataCommand {
  std::string what, kind, end_of_text = "auto";
  PackOptions pack;
  bool field_given = false, vocabulary_given = false, end_given = false, inputs_given = false, labels_given = false;
  int threads = 0;
  bool quiet = false, json = false;
};

double Now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What only some kinds take.
Status CheckOptions(const DataCommand& command) {
  const bool text = command.kind == "text", tokens = text || command.kind == "tokens", arrays = command.kind == "arrays";
  const std::string for_kind = fmt::format("is not for --kind {}", command.kind);
  if (command.field_given && !text) return Err("--field: {}", for_kind);
  if (command.vocabulary_given && !tokens) return Err("--vocabulary: {}", for_kind);
  if (command.end_given && !text) return Err("--eot: {}", for_kind);
  if (command.inputs_given && !arrays) return Err("--inputs: {}", for_kind);
  if (command.labels_given && !arrays) return Err("--labels: {}", for_kind);
  return {};
}

Result<PackOptions> PackOptionsOf(const DataCommand& command) {
  PackOptions pack = command.pack;
  if (command.kind == "images") return Err("--kind images: is not here yet; save the images as arrays and pack these");
  pack.kind = command.kind == "text" ? PackKind::kText : command.kind == "tokens" ? PackKind::kTokens : PackKind::kArrays;
  if (command.end_of_text == "none") {
    pack.end_documents = false;
  } else if (command.end_of_text != "auto") {
    const std::string& text = command.end_of_text;
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Err("--eot: expected the id of a token, auto or none, got {}", Quote(text));
    }
    pack.end_of_text = id;
  }
  return pack;
}

void PrintText(const DataCommand& command, const PackReport& report, double seconds) {
  const auto row = [](std::string_view name, const std::string& value) { fmt::print("{:<11} {}\n", name, value); };
  const auto bytes = static_cast<double>(report.bytes - report.resumed_bytes);
  row("packed",
      fmt::format("{} from {}{} into {} ({})", ByteCount(static_cast<double>(report.bytes)), Plural(report.files, "file"),
                  report.skipped == 0 ? "" : fmt::format(" (and {} skipped: no plain files)", report.skipped), command.pack.out,
                  ByteCount(static_cast<double>(report.file_bytes))));
  if (command.kind == "arrays") {
    row("samples", fmt::format("{}, labels below {}", Grouped(report.items), report.limit));
  } else {
    row("documents", fmt::format("{}{}", Grouped(report.documents),
                                 report.empty == 0 ? "" : fmt::format(" (and {} empty ones left out)", report.empty)));
    row("tokens", fmt::format("{}, below {}{}", Grouped(report.items), report.limit,
                              report.end_of_text ? fmt::format("; {} ends each document", *report.end_of_text) : ""));
  }
  row("root", report.root.hex());
  row("time", fmt::format("{}, {:.1f} MB/s", Duration(seconds), seconds > 0 ? bytes / seconds / 1e6 : 0.0));
}

OrderedJson JsonOf(const DataCommand& command, const PackReport& report, double seconds) {
  const bool arrays = command.kind == "arrays";
  const auto of_tokens = [&](std::int64_t value) { return arrays ? OrderedJson(nullptr) : OrderedJson(value); };
  return {{"file", command.pack.out},
          {"kind", command.kind},
          {"files", report.files},
          {"skipped", report.skipped},
          {"documents", of_tokens(report.documents)},
          {"empty_documents", of_tokens(report.empty)},
          {"bytes", report.bytes},
          {"resumed_bytes", report.resumed_bytes},
          {"tokens", of_tokens(report.items)},
          {"samples", arrays ? OrderedJson(report.items) : OrderedJson(nullptr)},
          {"below", report.limit},
          {"eot", report.end_of_text ? OrderedJson(*report.end_of_text) : OrderedJson(nullptr)},
          {"file_bytes", report.file_bytes},
          {"root", report.root.hex()},
          {"seconds", seconds}};
}

Result<int> RunData(const DataCommand& command) {
  ASSAY_TRY(CheckOptions(command));
  ASSAY_ASSIGN(const PackOptions options, PackOptionsOf(command));
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  ThreadPool pool(command.threads > 0 ? command.threads : std::max(1, cores));
  ByteProgress progress(stderr, ProgressModeFor(stderr, command.quiet), "packed");
  PackHooks hooks;
  hooks.progress = [&](std::uint64_t done, std::uint64_t all) { progress.Update(done, all, Now_s()); };
  const double began_s = Now_s();
  const auto report = Pack(options, pool, hooks);
  progress.Finish();
  if (!report) return tl::unexpected(report.error());
  const double seconds = Now_s() - began_s;
  if (command.json) {
    fmt::print("{}\n", Dump(JsonOf(command, *report, seconds)));
  } else {
    PrintText(command, *report, seconds);
  }
  return kExitOk;
}

}  // namespace

void AddData(Arguments& app, Command& command) {
  auto options = std::make_shared<DataCommand>();
  Subcommand sub = app.Add("data", "Pack text, tokens or arrays into one file to train on, larger than memory if need be");
  sub.Footer(
      "  assay data pack INPUT... --out FILE --kind text|tokens|arrays\n"
      "\n"
      "text: text files, JSON lines (*.jsonl, *.ndjson) and folders of them, turned into tokens; tokens: files of 16-bit token "
      "ids\n"
      "(*.bin); arrays: a .npz or safetensors file, or a folder of .npy files, with inputs and labels. A job trains on the "
      "file\n"
      "with data.kind = \"packed\". The same inputs give the same bytes. A packer that was killed goes on where it was when "
      "the\n"
      "same command is given again; until it is done there is FILE.partial, and no FILE.\n"
      "\n"
      "Example: assay data pack corpus/ extra.jsonl --out corpus.pack --kind text --vocabulary gpt2/");
  sub.Option("what", options->what, "pack").Required().OneOf({"pack"}).Type("WHAT");
  sub.Option("inputs", options->pack.inputs, "Files and folders, in the order in which they are packed")
      .Required()
      .Type("INPUT");
  sub.Option("--out", options->pack.out, "The file to make").Required().NotEmpty().Type("FILE");
  sub.Option("--kind", options->kind, "What the inputs are: text, tokens, images or arrays")
      .Required()
      .OneOf({"text", "tokens", "images", "arrays"})
      .Type("KIND");
  sub.Option("--vocabulary", options->pack.vocabulary,
             "Folder with encoder.json and vocab.bpe of GPT-2's kind; without it each byte of a text is a token")
      .NoteGiven(options->vocabulary_given)
      .Type("FOLDER");
  sub.Option("--field", options->pack.field, "text: member of a JSON line that is its text")
      .NoteGiven(options->field_given)
      .ShowDefault()
      .Type("NAME");
  sub.Option("--eot", options->end_of_text,
             "text: token after each document; none: no token; auto: the vocabulary's <|endoftext|>, if it has one")
      .NoteGiven(options->end_given)
      .ShowDefault()
      .Type("ID");
  sub.Option("--inputs", options->pack.array_inputs, "arrays: name of the array of inputs")
      .NoteGiven(options->inputs_given)
      .ShowDefault()
      .Type("NAME");
  sub.Option("--labels", options->pack.array_labels, "arrays: name of the array of labels")
      .NoteGiven(options->labels_given)
      .ShowDefault()
      .Type("NAME");
  sub.Option("--threads", options->threads, "Threads; 0: as many as the machine has").Range(0, 4096).ShowDefault().Type("N");
  sub.Flag("--quiet", options->quiet, "No progress");
  sub.Flag("--json", options->json, "Print one JSON object on the last line of standard output");
  SetCommand(sub, std::move(options), command, RunData);
}

}  // namespace assay::cli
