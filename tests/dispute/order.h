// Whether who stands depends on the order in which providers are listed. For simulations.
#pragma once

#include <string>
#include <vector>

#include "dice.h"
#include "simulation.h"

namespace assay::dispute {

// Plays the actors at once and without losses in their order and in another. What differs; empty: nothing. Posers take no part, nor who hands in the same twice.
std::string CheckOrder(const Stage& stage, const std::vector<Actor>& actors, const LawOptions& options, Dice& dice);

}  // namespace assay::dispute
