#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

Result<Hooks> ForgedCheckpoint(const Setting&) {
  return Hooks{.finished = [](const RunDirectory& run) -> Status {
    const std::string path = JoinPath(run.log_path(), "checkpoint");
    ASSAY_ASSIGN(const std::string note, ReadText(path));
    return WriteText(path, FlipBit(note, note.find_last_of(' ') + 1, note.size() - 1));
  }};
}

}  // namespace assay::attacks
