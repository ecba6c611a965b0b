#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

Result<Hooks> Impostor(const Setting& setting) {
  return Hooks{.signer = [&setting] { return ForeignKey(setting.key); }};
}

}  // namespace assay::attacks
