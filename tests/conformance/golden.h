// Golden digests: for each op and case the SHA-256 of its outputs, checked in, so that a change of bits cannot go unnoticed on any
// machine, compiler or version.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/case_run.h"

namespace assay::testkit {

class GoldenFile {
 public:
  explicit GoldenFile(std::string path);
  // Empty, or what differs. While writing, records the digest instead.
  std::string Check(const CaseRun& run);
  bool writing() const { return writing_; }
  // Entries of the file that no case asked for.
  std::vector<std::string> Unused() const;
  // While writing: replaces the file. Returns false if it cannot.
  bool Save() const;

 private:
  std::string path_;
  bool writing_;  // asked for by the environment variable ASSAY_GOLDEN=write
  std::map<std::string, std::string> stored_;
  std::vector<std::pair<std::string, std::string>> seen_;
};

}  // namespace assay::testkit
