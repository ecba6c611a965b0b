#include "docs/vectors.h"

namespace assay::docs {

std::map<std::string, std::string> Vectors() {
  return {{"functions.json", FunctionVectors()},
          {"ops.json", OpVectors()},
          {"types.json", TypeVectors()},
          {"draws.json", DrawVectors()},
          {"data.json", DataVectors()},
          {"jobs.json", JobVectors()},
          {"derivations.json", DerivationVectors()},
          {"rounded.json", RoundedVectors()}};
}

}  // namespace assay::docs
