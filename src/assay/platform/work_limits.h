// What a lease may take of this machine, and whether the work fits in: asked before it begins, and watched while it goes on.
//
// Memory, disk and time are what the order allows or what the worker offers, whichever is less. Data counts before it is loaded, by what its headers announce
// (base/allowance.h); state and work space before training begins. What is not counted are buffers of single kernels and of
// files, some tens of megabytes in all. Pure functions,
// apart from those that ask the system (usage.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "assay/backend/backend.h"
#include "assay/life/order.h"
#include "assay/train/prepare.h"

namespace assay::platform {

// Bytes, bytes and seconds; 0: no limit.
using Room = life::LeaseLimits;
Room RoomFor(const life::LeaseLimits& order, const Room& offered);

struct Needs {
  std::int64_t memory = 0;  // of the host
  std::int64_t disk = 0;    // beside what is there
};
// Of training: state and work space; snapshots, weights and log. `sealed`: the results are kept once more, sealed.
Needs NeedsOf(const PreparedJob& prepared, Backend& backend, bool sealed);
// For whoever does not know the worker: what all need, those too whose device has memory of its own for the work space; and what those need that have a CPU alone.
Needs LeastNeedsOf(const PreparedJob& prepared, bool sealed);
Needs HostNeedsOf(const PreparedJob& prepared, bool sealed);
// Of an order's files, or a run's: opened ones lie beside sealed ones for a while.
std::int64_t BytesOf(const std::vector<life::OrderFile>& files);

// What this machine has left.
struct Left {
  std::int64_t memory = 0, disk = 0;
};
Left LeftHere(const std::string& path);

// One line that says what does not suffice. `used`: what is taken already of the room.
Status CheckRoom(const Needs& needs, const Room& room, const Left& left, const Needs& used = {});

// What is taken too much of, in words; nothing where all is well.
struct Taken {
  std::int64_t memory = 0, disk = 0;  // bytes by this lease
  std::int64_t ms = 0;                // of work
};
std::optional<std::string> Exceeded(const Room& room, const Taken& taken);

}  // namespace assay::platform
