#include "assay/monitor/usage.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

namespace assay::monitor {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

std::int64_t NumberIn(const char* path) {
  std::ifstream in(path);
  std::int64_t number = 0;
  return in >> number ? number : kUnknown;
}

// Of the group that a container or a batch system put the process in.
std::int64_t LeftInGroup() {
  const std::int64_t most = NumberIn("/sys/fs/cgroup/memory.max");
  const std::int64_t used = NumberIn("/sys/fs/cgroup/memory.current");
  if (most == kUnknown || used == kUnknown) return kUnknown;
  return std::max<std::int64_t>(0, most - used);
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

std::int64_t AvailableMemory() {
  constexpr std::int64_t kKibibyte = 1024;
  std::ifstream in("/proc/meminfo");
  std::string word;
  std::int64_t available = kUnknown;
  while (in >> word) {
    if (word != "MemAvailable:") continue;
    if (std::int64_t number = 0; in >> number) available = number * kKibibyte;
    break;
  }
  return std::min(available, LeftInGroup());
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
