// Golden digests: for each version of an op, and each case, the SHA-256 of its outputs, checked in, so that a change of bits cannot go unnoticed on
// any machine or compiler. What is written under a version stays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/case_run.h"

namespace assay::testkit {

class GoldenFile {
 public:
  explicit GoldenFile(std::string path);
  // Empty, or what differs. While writing, a digest that the file does not have is recorded.
  std::string Check(const CaseRun& run);
  bool writing() const { return writing_; }
  // Entries of the file that no case asked for.
  std::vector<std::string> Unused() const;
  // While writing: replaces the file, with or without the entries that no case asked for. Returns false if it cannot.
  bool Save(bool keep_others) const;

 private:
  std::string path_;
  bool writing_;  // asked for by the environment variable ASSAY_GOLDEN=write
  std::map<std::string, std::string> stored_;
  std::vector<std::pair<std::string, std::string>> seen_;
};

}  // namespace assay::testkit
