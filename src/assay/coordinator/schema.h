// The tables of a coordinator, by version (store/migrations.h).
#pragma once

#include <span>

#include "assay/store/migrations.h"

namespace assay::coordinator {

std::span<const store::Migration> Schema();

}  // namespace assay::coordinator
