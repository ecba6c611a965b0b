// Scratch: a folder of one test's own, gone when the test is. In memory where there is such a place: a run syncs its files many times.
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace assay::testkit {

class Scratch {
 public:
  Scratch() {
    const char* named = std::getenv("TMPDIR");
    const std::filesystem::path places[] = {named != nullptr ? named : "/dev/shm", std::filesystem::temp_directory_path()};
    for (const std::filesystem::path& place : places) {
      std::string name = (place / "assay.XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) continue;
      path_ = name;
      return;
    }
    std::abort();  // no place for temporary files
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace assay::testkit
