#include "assay/base/allowance.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/order_watch.h"
#include "assay/cli/platform_session.h"
#include "assay/cli/signer.h"
#include "assay/client/submission.h"

namespace assay::cli {
namespace {

struct SubmitOptions : PlatformOptions {
  std::string job, data, again;
  std::optional<std::int64_t> replicas, attempts, seconds;
  std::string audit, probe, memory, disk;
  std::vector<std::string> sealed_to;
  bool wait = false;
};

// Whoever writes 4096 means MiB; no worker could take the order.
Result<std::int64_t> RoomOf(const std::string& name, const std::string& text) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 20;
  ASSAY_ASSIGN(const std::int64_t bytes, SizeInBytes(name, text));
  if (bytes < kLeast) return Err("{}: {} is less than any job needs; with a unit: 512MiB, 4GiB", name, Amount(bytes));
  return bytes;
}

// What is wrong with a policy, by the names that its fields have here.
std::string InOptions(const std::string& complaint) {
  for (const std::string_view field : {"replicas is", "audit is", "probe is", "attempts is"}) {
    if (complaint.starts_with(field)) return "--" + complaint;
  }
  return complaint;
}

// One run and an audit where an audit is asked for, otherwise two runs that have to agree.
Result<client::OrderWish> WishOf(const SubmitOptions& options) {
  client::OrderWish wish{.job = options.job, .data = options.data};
  if (!options.audit.empty()) {
    ASSAY_ASSIGN(wish.policy.audit, WholePercent("--audit", options.audit, 1));
    wish.policy.replicas = 1;
  }
  if (!options.probe.empty()) {
    ASSAY_ASSIGN(wish.policy.probe, WholePercent("--probe", options.probe));
  }
  if (options.replicas) wish.policy.replicas = *options.replicas;
  wish.policy.attempts = options.attempts.value_or(std::max<std::int64_t>(wish.policy.attempts, 2 * wish.policy.replicas));
  if (!options.memory.empty()) {
    ASSAY_ASSIGN(wish.limits.memory, RoomOf("--memory", options.memory));
  }
  if (!options.disk.empty()) {
    ASSAY_ASSIGN(wish.limits.disk, RoomOf("--disk", options.disk));
  }
  wish.limits.seconds = options.seconds.value_or(0);
  if (const Status good = life::CheckPolicy(wish.policy); !good) return Err("{}", InOptions(good.error().message));
  return wish;
}

client::Checked<std::string> Make(const SubmitOptions& options, Session& session) {
  ASSAY_ASSIGN(client::OrderWish wish, WishOf(options));
  ASSAY_ASSIGN(wish.sealed, client::ChooseRecipients(*session.api, options.sealed_to));
  ASSAY_ASSIGN(const SigningKey key, OpenSigner(options.key));
  ASSAY_ASSIGN(const life::Order order, client::MakeOrder(session.state, key, session.coordinator, session.api->server(), wish,
                                                          [&](const std::string& note) {
                                                            if (!options.quiet) fmt::print(stderr, "assay: {}\n", note);
                                                          }));
  if (!order.sealed.empty() && !options.quiet) {
    fmt::print(stderr,
               "assay: the result will be sealed to the identity in {}: keep a copy of that file, nothing else opens it\n",
               session.state.IdentityPath());
  }
  return order.id;
}

client::Checked<int> Submit(const SubmitOptions& options, std::string& id, int& signal) {
  ASSAY_ASSIGN(Session session, OpenSession(options));
  const StopOnSignal stop(*session.api);
  const auto failed = [&](client::Trouble trouble) {
    signal = stop.signal();
    return tl::unexpected(std::move(trouble));
  };
  if (id.empty()) {
    ASSAY_ASSIGN(id, Make(options, session));
  }
  OrderView view(stderr, ProgressModeFor(stderr, options.quiet));
  const auto sent = client::SendOrder(*session.api, session.state, id,
                                      {.on_upload = [&](const std::string& name, std::uint64_t done, std::uint64_t total) {
                                        view.Transfer("upload " + name, done, total, NowSeconds());
                                      }});
  if (!sent) {
    client::Trouble trouble = sent.error();
    view.Finish();
    if (stop.signal() != 0)
      fmt::print(stderr, "assay: the order may not have arrived; to send it again: assay submit --again {}\n", id);
    if (trouble.later) trouble.message += fmt::format("; send the same order again with: assay submit --again {}", id);
    return failed(std::move(trouble));
  }
  view.Finish();
  if (!options.wait) {
    if (options.json) {
      fmt::print("{}\n", Dump({{"id", id}}));
    } else {
      fmt::print("{}\n", id);
    }
    return kExitOk;
  }
  const auto checked = WatchOrder(session, options, id, view);
  view.Finish();
  if (!checked) {
    if (stop.signal() != 0) SayOrderGoesOn(id);
    return failed(checked.error());
  }
  PrintOutcome(checked->life(), options.json);
  return ExitStatusOf(checked->life());
}

Result<int> RunSubmit(const SubmitOptions& options) {
  if (options.job.empty() == options.again.empty())
    return Err("submit: expected a job file, or --again with the id of an order");
  ASSAY_TRY(WishOf(options));  // before anybody is asked
  std::string id = options.again;
  int signal = 0;
  Result<int> status = Concluded(Submit(options, id, signal), id, options.json);
  return signal != 0 ? 128 + signal : status;
}

}  // namespace

void AddSubmit(Arguments& app, Command& command) {
  auto options = std::make_shared<SubmitOptions>();
  Subcommand sub = app.Add("submit", "Order the training of a job from a coordinator");
  sub.Footer(
      "Uploads the job and every file that it names, signs the order and submits it. Without --audit two workers train the\n"
      "job and have to agree bit for bit; where they do not, a dispute convicts the liar. With --audit one worker trains\n"
      "it, and another replays the given share of its segments, drawn after the run is signed for. A segment lies between\n"
      "two snapshots ([snapshot] every); a run without any has one, and is replayed as a whole. --replicas with --audit\n"
      "asks for both.\n"
      "\n"
      "--sealed-to encrypts all files to the chosen workers: the coordinator cannot read them, nor the result. Name workers\n"
      "by their keys, recipients (age1...) directly, or all workers that there are. Results are sealed to the identity in the\n"
      "state folder (--state), and nothing else opens them: keep a copy of that file.\n"
      "\n"
      "The order's id is drawn here and remembered before anything is sent: what is interrupted is sent again with\n"
      "--again ID, and is the same order.\n"
      "\n"
      "Exit status with --wait: 0 verified or refereed, 1 withheld or failed, or what the coordinator says is not true,\n"
      "3 undecided. Without --wait: 0 once the coordinator has the order.\n"
      "\n"
      "Example: assay submit examples/gpt2-tiny.toml --replicas 2 --wait");
  sub.Option("job", options->job, "Job file (TOML; docs/JOBS.md)").Type("JOB");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--replicas", options->replicas, "Runs by different workers that have to agree. Default: 2; with --audit: 1")
      .Range(1, 16)
      .Type("N");
  sub.Option("--audit", options->audit, "Share of the segments between snapshots that another worker replays, in whole percent")
      .NotEmpty()
      .Type("P%");
  sub.Option("--probe", options->probe,
             "How often a worker with a long clean record is checked, in whole percent. Default: 100%, always")
      .NotEmpty()
      .Type("P%");
  sub.Option("--attempts", options->attempts, "Training leases in total, including failed ones. Default: 8")
      .Range(1, 64)
      .Type("N");
  sub.Option("--memory", options->memory,
             "What a worker may use, such as 4GiB; the job has to fit. Default: what the coordinator allows")
      .Type("SIZE");
  sub.Option("--disk", options->disk, "The same of disk space").Type("SIZE");
  sub.Option("--seconds", options->seconds, "The same of time").Range(std::int64_t{1}, std::int64_t{1} << 40).Type("S");
  sub.Option("--sealed-to", options->sealed_to, "Encrypt to this worker: a key, a recipient (age1...) or all; repeat for each")
      .Type("WHOM");
  sub.Option("--again", options->again, "Send an order again that was made before and may not have arrived").Type("ID");
  sub.Flag("--wait", options->wait, "Wait for the verdict, and check it");
  AddPlatformOptions(sub, *options);
  AddLifeOptions(sub, *options, false);
  SetCommand(sub, std::move(options), command, RunSubmit);
}

}  // namespace assay::cli
