// write_seeds FOLDER: every target's seeds as files FOLDER/NAME/N, for a fuzzer to start from.
#include <cstdio>

#include "assay/base/file.h"
#include "fuzz/targets.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  for (const assay::fuzz::Target& target : assay::fuzz::Targets()) {
    const std::string folder = assay::JoinPath(argv[1], target.name);
    auto status = assay::MakeDirectories(folder);
    int number = 0;
    for (const assay::Bytes& seed : target.seeds()) {
      if (status) status = assay::WriteFileAtomic(assay::JoinPath(folder, std::to_string(number++)), seed);
    }
    if (!status) {
      std::fprintf(stderr, "write_seeds: %s\n", status.error().message.c_str());
      return 2;
    }
  }
  return 0;
}
