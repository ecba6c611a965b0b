#include "assay/coordinator/verdict_hook.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "assay/life/fields.h"
#include "assay/store/descriptor.h"

extern char** environ;

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

life::Json LeaseJson(const life::Lease& lease) { return {{"lease", lease.number}, {"worker", lease.worker}}; }

// Waits for the end of a child, no longer than `timeout_ms`. Its status, or nothing.
std::optional<int> WaitFor(pid_t child, std::int64_t timeout_ms) {
  const store::Descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd ready{.fd = watch.get(), .events = POLLIN, .revents = 0};
  if (watch.get() >= 0 && ::poll(&ready, 1, static_cast<int>(timeout_ms)) <= 0) return std::nullopt;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::string VerdictText(const life::Life& life, const std::string& account) {
  using State = life::Lease::State;
  const life::Decided& decided = *life.decision();
  life::Json runs = life::Json::array(), convicted = life::Json::array(), audits = life::Json::array();
  for (const auto& [number, lease] : life.leases()) {
    if (lease.role == life::Role::kAudit && lease.finding) audits.push_back(LeaseJson(lease));
    if (lease.role != life::Role::kTrain || !lease.receipt) continue;
    if (lease.state == State::kHeld) runs.push_back(LeaseJson(lease));
    if (!lease.convicted) continue;
    life::Json guilty = LeaseJson(lease);
    for (const life::Judged& judged : life.disputes()) {
      if (std::find(judged.convicted.begin(), judged.convicted.end(), number) != judged.convicted.end())
        guilty["evidence"] = judged.evidence;
    }
    convicted.push_back(std::move(guilty));
  }
  const life::Lease* delivered = life.Find(decided.lease);
  const life::Json verdict = {{"order", life.order().id},
                              {"account", account},
                              {"client", life.order().client},
                              {"job", life.order().job.hex()},
                              {"verdict", life::Name(decided.verdict)},
                              {"words", decided.words},
                              {"lease", decided.lease},
                              {"provider", delivered == nullptr ? "" : delivered->worker},
                              {"held", runs},
                              {"audits", audits},
                              {"convicted", convicted}};
  return life::Compact(verdict) + "\n";
}

Status RunCommand(const std::string& command, const std::string& input, std::int64_t timeout_ms) {
  // A file in memory, not a pipe: a command that does not read its input must not end this process, nor hold it up.
  const store::Descriptor file(::memfd_create("verdict", MFD_CLOEXEC));
  if (file.get() < 0) return Err("memfd_create: {}", ::strerror(errno));
  if (::write(file.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    return Err("writing the verdict for a command: {}", ::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, file.get(), STDIN_FILENO);
  // Standard output belongs to the server's own lines.
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  // Nothing else that this process has open, connections and databases above all, is the command's.
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  // A process group of its own, so that what it starts can be ended with it; signals as a program expects them.
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const char* const arguments[] = {"/bin/sh", "-c", command.c_str(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/bin/sh", &actions, &attributes, const_cast<char* const*>(arguments), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) return Err("/bin/sh: {}", ::strerror(failed));
  std::optional<int> status = WaitFor(child, timeout_ms);
  if (!status) {
    ::kill(-child, SIGKILL);
    static_cast<void>(WaitFor(child, 10'000));
    return Err("the command took longer than {} ms and was killed", timeout_ms);
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  return WIFEXITED(*status) ? Err("the command ended with status {}", WEXITSTATUS(*status))
                            : Err("the command was ended by signal {}", WTERMSIG(*status));
}

VerdictHook::VerdictHook(store::Database& database, Book& book, Bell& bell, VerdictHookOptions options)
    : database_(database),
      book_(book),
      bell_(bell),
      options_(std::move(options)),
      holder_(SigningKey::Generate("hook").verify_key().ToString()),
      thread_([this] { Run(); }) {}

VerdictHook::~VerdictHook() {
  stopping_ = true;
  bell_.Ring();
  thread_.join();
}

void VerdictHook::Run() {
  std::int64_t pause_until = 0;
  while (!stopping_) {
    const std::uint64_t heard = bell_.count();
    const std::int64_t now = options_.clock->SteadyMs();
    Result<std::string> order = now < pause_until ? Result<std::string>(std::string()) : Take();
    if (!order && options_.log) options_.log(fmt::format("looking for verdicts to announce: {}", order.error().message));
    if (!order || order->empty()) {
      bell_.WaitAfter(heard, options_.look_ms);
      continue;
    }
    const Status told = Tell(*order);
    if (told) continue;
    if (options_.log) options_.log(fmt::format("order {}: announcing its verdict: {}", *order, told.error().message));
    static_cast<void>(Leave(*order));
    pause_until = options_.clock->SteadyMs() + options_.retry_ms;
  }
}

Result<std::string> VerdictHook::Take() {
  return database_.Write([&](Transaction& t) -> Result<std::string> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT order_id, holder, beat FROM verdicts_due ORDER BY beat, order_id LIMIT 64"));
    for (const store::Row& row : rows) {
      ASSAY_ASSIGN(const std::string order, row.Text(0));
      ASSAY_ASSIGN(const std::string other, row.Text(1));
      ASSAY_ASSIGN(const std::int64_t beat, row.Integer(2));
      const bool free = other.empty() || other == holder_ ||
                        stillness_.Still(order + other, beat, options_.clock->SteadyMs(), options_.patience_ms);
      if (!free) continue;
      ASSAY_TRY(t.Run("UPDATE verdicts_due SET holder = $2, beat = beat + 1 WHERE order_id = $1", {order, holder_}));
      return order;
    }
    return std::string();
  });
}

Status VerdictHook::Tell(const std::string& order) {
  ASSAY_ASSIGN(const auto written, book_.Look(order));
  ASSAY_ASSIGN(const std::string account, book_.AccountOf(order));
  if (!written->life.decision()) return Err("is not decided");
  ASSAY_TRY(RunCommand(options_.command, VerdictText(written->life, account), options_.timeout_ms));
  return Remove(order);
}

Status VerdictHook::Remove(const std::string& order) {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("DELETE FROM verdicts_due WHERE order_id = $1", {order}));
    return {};
  });
}

// Behind the others, for whoever comes next.
Status VerdictHook::Leave(const std::string& order) {
  return database_.Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("UPDATE verdicts_due SET holder = '' WHERE order_id = $1", {order}));
    return {};
  });
}

}  // namespace assay::coordinator
