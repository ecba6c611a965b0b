// The files of a coordinator's page (web/) and the judge for browsers, which the build puts into the program (cmake/page.cmake). Constants.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay::browser {

struct PageFile {
  std::string_view name;  // "app.js"
  std::string_view type;  // content type
  std::string_view hash;  // SHA-256 of its bytes, in hex
  std::span<const std::uint8_t> plain, gzip;
};

std::span<const PageFile> PageFiles();

}  // namespace assay::browser
