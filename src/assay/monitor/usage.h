// What this process and this machine use and have left, as the system tells. A number that the system does not tell is 0 for what is used, and the largest number
// for what is left. Thread safe.
#pragma once

#include <cstdint>
#include <string>

namespace assay::monitor {

std::int64_t ResidentBytes();    // of this process
double CpuSeconds();             // of this process, all threads
std::int64_t AvailableMemory();  // that the machine, or the process's group, has left, caches that give way counted as left
// Of a group that a container or a batch system put the process in: `folder` is the control group's. The most there is where there is no limit.
std::int64_t LeftInGroup(const std::string& folder);
std::int64_t FreeSwap();
std::int64_t FreeDisk(const std::string& path);
std::int64_t FolderBytes(const std::string& path);  // of the files below it, which may come and go meanwhile
std::int64_t Cores();                               // that this process may use

}  // namespace assay::monitor
