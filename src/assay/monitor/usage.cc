#include "assay/monitor/usage.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>

namespace assay::monitor {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

std::int64_t NumberIn(const std::string& path) {
  std::ifstream in(path);
  std::int64_t number = 0;
  return in >> number ? number : kUnknown;
}

// The number behind a word that begins a line.
std::int64_t NumberBehind(const std::string& path, std::string_view word) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    if (!line.starts_with(word) || line.size() == word.size() || line[word.size()] != ' ') continue;
    std::istringstream rest(line.substr(word.size()));
    std::int64_t number = 0;
    return rest >> number ? number : kUnknown;
  }
  return kUnknown;
}

std::int64_t InMeminfo(std::string_view word) {
  constexpr std::int64_t kKibibyte = 1024;
  const std::int64_t number = NumberBehind("/proc/meminfo", word);
  return number == kUnknown ? kUnknown : number * kKibibyte;
}

}  // namespace

std::int64_t ResidentBytes() {
  std::ifstream in("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  if (!(in >> size >> resident)) return 0;
  return resident * ::sysconf(_SC_PAGESIZE);
}

double CpuSeconds() {
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::int64_t LeftInGroup(const std::string& folder) {
  const std::int64_t most = NumberIn(folder + "/memory.max");
  std::int64_t used = NumberIn(folder + "/memory.current");
  if (most == kUnknown || used == kUnknown) return kUnknown;
  // What the kernel gives back when somebody asks for memory.
  for (const std::string_view cache : {"inactive_file", "active_file", "slab_reclaimable"}) {
    if (const std::int64_t bytes = NumberBehind(folder + "/memory.stat", cache); bytes != kUnknown) used -= bytes;
  }
  return std::max<std::int64_t>(0, most - std::max<std::int64_t>(0, used));
}

std::int64_t AvailableMemory() { return std::min(InMeminfo("MemAvailable:"), LeftInGroup("/sys/fs/cgroup")); }

std::int64_t FreeSwap() {
  const std::int64_t bytes = InMeminfo("SwapFree:");
  return bytes == kUnknown ? 0 : bytes;
}

std::int64_t FreeDisk(const std::string& path) {
  std::error_code failed;
  const fs::space_info space = fs::space(path, failed);
  if (failed || space.available > static_cast<std::uintmax_t>(kUnknown)) return kUnknown;
  return static_cast<std::int64_t>(space.available);
}

std::int64_t FolderBytes(const std::string& path) {
  std::int64_t bytes = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || gone) continue;
    const std::uintmax_t size = at->file_size(gone);
    if (!gone) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::int64_t Cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace assay::monitor
