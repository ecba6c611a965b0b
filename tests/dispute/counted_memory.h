// What the heap held at its peak while something ran: the program's own operator new counts (counted_memory.cc). Memory that is mapped, or aligned beyond the usual, is not counted.
#pragma once

#include <cstdint>

namespace assay {

// Since the last ResetPeak, beyond what was held then. One thread at a time.
void ResetPeak();
std::int64_t PeakBytes();

}  // namespace assay
