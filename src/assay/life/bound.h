// Bound: what ties a sealed file to the one order that it was sealed for, so that nobody who has the sealed bytes can put them into an order of their own and have its
// results sealed to themselves (docs/formats/sealed.md, "Bound files"). Pure functions.
#pragma once

#include <string>

#include "assay/base/result.h"
#include "assay/life/order.h"
#include "assay/seal/seal.h"

namespace assay::life {

// The `bound` of a file of this order, whose id, client and reply are set, as are the file's name and hash.
std::string BoundOf(const SealBinding& binding, const Order& order, const OrderFile& file);
// Whether the file was sealed for this order.
Status CheckBound(const SealBinding& binding, const Order& order, const OrderFile& file);

}  // namespace assay::life
