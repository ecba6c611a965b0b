// EntryProof: what proves one entry of a run's log to somebody who has the signer's public key alone, as `assay log RUN --prove STEP --json` prints it
// (docs/formats/log.md). Value types; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/merkle/proof.h"
#include "assay/run/entry.h"
#include "assay/run/log.h"
#include "assay/sign/key.h"
#include "assay/sign/note.h"

namespace assay {

struct EntryProof {
  std::int64_t step = 0;
  std::uint64_t index = 0, size = 0;  // of the entry, of the log
  Bytes entry;
  Hashes hashes;  // from the leaf up
  Digest root{};
  std::string checkpoint;           // the signed note
  std::optional<VerifyKey> signer;  // of whom it says that the note is; for the reader to believe or not
};

// Of entry `index`; `note` is the log's checkpoint as it is on disk.
EntryProof ProveEntry(const RunLog& log, std::size_t index, std::string note, const VerifyKey& signer);

std::string ToJson(const EntryProof& proof);  // one line, without its end
// The form alone, in any order of keys; others, and keys that stand there twice, are refused: two readers could take different things from them.
Result<EntryProof> ParseEntryProof(std::string_view text, std::string_view what);

struct ProvenEntry {
  LogEntry entry;
  Checkpoint checkpoint;
};
// What it proves under a key. An error: nothing.
Result<ProvenEntry> OpenEntryProof(const EntryProof& proof, const VerifyKey& key, std::string_view what);

}  // namespace assay
