// Where a command listens, as users write it. Pure.
#pragma once

#include <string>

namespace assay::cli {

// A port alone is one of this machine that only it can reach.
inline std::string ListenAddress(const std::string& text) {
  const std::string port = text.starts_with(':') ? text.substr(1) : text;
  const bool only_port = !port.empty() && port.find_first_not_of("0123456789") == std::string::npos;
  return only_port ? "127.0.0.1:" + port : text;
}

}  // namespace assay::cli
