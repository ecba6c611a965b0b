// Invariant checks that stay on in release builds.
//
// ASSAY_CHECK is for what can only be false if this program is wrong; anything that a user, a file, a peer or a device can
// cause is reported through Result instead. Thread safe.
#pragma once

namespace assay {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace assay

#define ASSAY_CHECK(condition) ((condition) ? static_cast<void>(0) : ::assay::CheckFailed(#condition, __FILE__, __LINE__))
