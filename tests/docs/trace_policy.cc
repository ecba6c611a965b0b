#include "docs/trace_policy.h"

#include <fmt/format.h>

namespace assay::docs {

// Small numbers as people write them, others by their bits.
Traced::F Traced::Set(float x) {
  for (float plain : {0.0f, 0.5f, 1.0f, 2.0f, 10.0f, 89.0f, 105.0f, 131072.0f}) {
    if (x == plain || x == -plain) return Name(fmt::format("{}", x).c_str());
  }
  return Name(fmt::format("{:a}", x).c_str());
}

Traced::I Traced::SetI(std::int32_t x) {
  const bool plain = x > -256 && x < 256;
  return NameI((plain ? fmt::format("{}", x) : fmt::format("0x{:08x}", static_cast<std::uint32_t>(x))).c_str());
}

std::string Listing::Add(const Traced::Expression& expression) {
  std::string text;
  std::size_t next = 0;
  for (std::size_t i = 0; i < expression.form.size(); ++i) {
    if (expression.form.compare(i, 2, "{}") != 0) {
      text += expression.form[i];
      continue;
    }
    text += Add(*expression.operands[next++]);
    ++i;
  }
  if (expression.kind == Traced::Expression::kName || expression.kind == Traced::Expression::kInline) return text;
  std::string& name = names_[text];
  if (name.empty()) {
    const bool integer = expression.kind == Traced::Expression::kInteger;
    name = fmt::format("{}{}", integer ? 'n' : 't', integer ? ++integers_ : ++floats_);
    lines_.push_back(fmt::format("{} = {}", name, text));
  }
  return name;
}

}  // namespace assay::docs
