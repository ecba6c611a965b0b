// Ruling: how a dispute among the runs of a sealed order ended, under the signature of the order's client, who is its referee (docs/formats/life.md). Nobody else can
// say it in the client's place. Pure functions.
#pragma once

#include <string>

#include "assay/base/result.h"
#include "assay/life/life.h"
#include "assay/sign/key.h"

namespace assay::life {

// The signature for `judged` in a life that has come as far as `life`, as its entry holds it. What `judged` has there already does not matter.
std::string SignRuling(const Life& life, const Judged& judged, const SigningKey& key);
// Whether the signature of `judged` is that of the order's client over all of it.
Status CheckRuling(const Life& life, const Judged& judged);

}  // namespace assay::life
