#include "assay/coordinator/mlflow_filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "assay/base/quote.h"

namespace assay::coordinator {
namespace {

using Op = MlflowComparison::Op;
using Of = MlflowField::Of;

constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostComparisons = 32;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string LowerOf(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), Lower);
  return lower;
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
         c == '/';
}

struct Token {
  enum class Kind : std::uint8_t { kWord, kNumber, kText, kSign, kEnd } kind = Kind::kEnd;
  std::string text{};
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) {}

  Outcome<Token> Next() {
    while (rest_.starts_with(' ') || rest_.starts_with('\t') || rest_.starts_with('\n')) rest_.remove_prefix(1);
    if (rest_.empty()) return Token{};
    const char c = rest_.front();
    if (c == '\'' || c == '"') return Quoted(c);
    if ((c >= '0' && c <= '9') || c == '-' || c == '+') return Number();
    if (IsWordCharacter(c)) return Word();
    for (const std::string_view sign : {"!=", "<=", ">=", "=", "<", ">", "(", ")", ","}) {
      if (!rest_.starts_with(sign)) continue;
      rest_.remove_prefix(sign.size());
      return Token{Token::Kind::kSign, std::string(sign)};
    }
    return BadRequest("filter: unexpected {}", Quote(rest_.substr(0, 20)));
  }

 private:
  Outcome<Token> Quoted(char quote) {
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return BadRequest("filter: {} has no end", Quote(rest_.substr(0, 20)));
    Token token{Token::Kind::kText, std::string(rest_.substr(1, end - 1))};
    rest_.remove_prefix(end + 1);
    return token;
  }
  Outcome<Token> Number() {
    std::size_t end = 1;
    while (end < rest_.size() && (IsWordCharacter(rest_[end]) || rest_[end] == '+')) ++end;
    Token token{Token::Kind::kNumber, std::string(rest_.substr(0, end))};
    rest_.remove_prefix(end);
    return token;
  }
  // A name may have a part in quotes: tags.`a key`, metrics."a key".
  Outcome<Token> Word() {
    Token token{Token::Kind::kWord};
    while (!rest_.empty() && IsWordCharacter(rest_.front())) {
      token.text += rest_.front();
      rest_.remove_prefix(1);
      if (token.text.back() != '.' || rest_.empty() || (rest_.front() != '`' && rest_.front() != '"')) continue;
      ASSAY_ASSIGN(const Token key, Quoted(rest_.front()));
      token.text += key.text;
      break;
    }
    return token;
  }
  std::string_view rest_;
};

Outcome<MlflowField> FieldOf(const std::string& word) {
  const std::size_t dot = word.find('.');
  if (dot == std::string::npos) return MlflowField{Of::kAttribute, word};
  constexpr std::array<std::pair<std::string_view, Of>, 13> kNames = {{{"attributes", Of::kAttribute},
                                                                       {"attribute", Of::kAttribute},
                                                                       {"attr", Of::kAttribute},
                                                                       {"run", Of::kAttribute},
                                                                       {"metrics", Of::kMetric},
                                                                       {"metric", Of::kMetric},
                                                                       {"parameters", Of::kParam},
                                                                       {"parameter", Of::kParam},
                                                                       {"params", Of::kParam},
                                                                       {"param", Of::kParam},
                                                                       {"tags", Of::kTag},
                                                                       {"tag", Of::kTag},
                                                                       {"experiment", Of::kAttribute}}};
  for (const auto& [name, of] : kNames) {
    if (word.substr(0, dot) == name && dot + 1 < word.size()) return MlflowField{of, word.substr(dot + 1)};
  }
  return BadRequest("filter: {}: expected attributes., metrics., params. or tags. and a name", Quote(word));
}

Outcome<MlflowValue> ValueOf(const Token& token) {
  if (token.kind == Token::Kind::kText) return token.text;
  double number = 0;
  const char* end = token.text.data() + token.text.size();
  const char* begin = token.text.data() + (token.text.starts_with('+') ? 1 : 0);
  if (token.kind != Token::Kind::kNumber || std::from_chars(begin, end, number).ptr != end)
    return BadRequest("filter: expected a number or text in quotes, got {}", Quote(token.text));
  return number;
}

Outcome<Op> OpOf(const Token& token, Lexer& lexer) {
  constexpr std::array<std::pair<std::string_view, Op>, 6> kSigns = {{{"=", Op::kEqual},
                                                                      {"!=", Op::kUnequal},
                                                                      {"<", Op::kLess},
                                                                      {"<=", Op::kAtMost},
                                                                      {">", Op::kGreater},
                                                                      {">=", Op::kAtLeast}}};
  for (const auto& [name, op] : kSigns) {
    if (token.kind == Token::Kind::kSign && token.text == name) return op;
  }
  const std::string word = token.kind == Token::Kind::kWord ? LowerOf(token.text) : "";
  if (word == "like") return Op::kLike;
  if (word == "ilike") return Op::kLikeAnyCase;
  if (word == "in") return Op::kIn;
  if (word == "not") {
    ASSAY_ASSIGN(const Token next, lexer.Next());
    if (LowerOf(next.text) == "in") return Op::kNotIn;
  }
  return BadRequest("filter: expected a comparison, got {}", Quote(token.text));
}

Outcome<std::vector<MlflowValue>> ListOf(Lexer& lexer) {
  std::vector<MlflowValue> values;
  ASSAY_ASSIGN(Token token, lexer.Next());
  if (token.text != "(" || token.kind != Token::Kind::kSign) return BadRequest("filter: expected a list in brackets");
  while (values.size() < kMostText) {
    ASSAY_ASSIGN(token, lexer.Next());
    ASSAY_ASSIGN(MlflowValue value, ValueOf(token));
    values.push_back(std::move(value));
    ASSAY_ASSIGN(token, lexer.Next());
    if (token.kind == Token::Kind::kSign && token.text == ")") return values;
    if (token.kind != Token::Kind::kSign || token.text != ",") break;
  }
  return BadRequest("filter: a list without an end");
}

Outcome<MlflowComparison> ComparisonOf(const Token& first, Lexer& lexer) {
  if (first.kind != Token::Kind::kWord) return BadRequest("filter: expected a name, got {}", Quote(first.text));
  MlflowComparison comparison;
  ASSAY_ASSIGN(comparison.field, FieldOf(first.text));
  ASSAY_ASSIGN(const Token sign, lexer.Next());
  ASSAY_ASSIGN(comparison.op, OpOf(sign, lexer));
  if (comparison.op == Op::kIn || comparison.op == Op::kNotIn) {
    ASSAY_ASSIGN(comparison.values, ListOf(lexer));
  } else {
    ASSAY_ASSIGN(const Token token, lexer.Next());
    ASSAY_ASSIGN(MlflowValue value, ValueOf(token));
    comparison.values.push_back(std::move(value));
  }
  return comparison;
}

// % stands for any text, _ for one character.
bool Like(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, in = 0, star = std::string_view::npos, mark = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '%') {
      star = in++;
      mark = at;
    } else if (in < pattern.size() && (pattern[in] == '_' || pattern[in] == text[at])) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++mark;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('%', in) == std::string_view::npos;
}

bool Holds(Op op, const MlflowValue& have, const MlflowValue& want) {
  if (have.index() != want.index()) return false;
  switch (op) {
    case Op::kEqual: return have == want;
    case Op::kUnequal: return have != want;
    case Op::kLess: return have < want;
    case Op::kAtMost: return have <= want;
    case Op::kGreater: return have > want;
    case Op::kAtLeast: return have >= want;
    default: break;
  }
  const auto *text = std::get_if<std::string>(&have), *pattern = std::get_if<std::string>(&want);
  if (text == nullptr || pattern == nullptr) return false;
  return op == Op::kLike ? Like(*text, *pattern) : Like(LowerOf(*text), LowerOf(*pattern));
}

bool Fits(const MlflowComparison& comparison, const MlflowSubject& subject) {
  const auto have = subject(comparison.field);
  if (!have) return false;
  if (comparison.op == Op::kIn || comparison.op == Op::kNotIn) {
    const bool found = std::ranges::find(comparison.values, *have) != comparison.values.end();
    return found == (comparison.op == Op::kIn);
  }
  return Holds(comparison.op, *have, comparison.values.front());
}

}  // namespace

Outcome<std::vector<MlflowComparison>> ParseMlflowFilter(std::string_view text) {
  if (text.size() > kMostText) return BadRequest("filter: expected at most {} bytes", kMostText);
  std::vector<MlflowComparison> filter;
  Lexer lexer(text);
  ASSAY_ASSIGN(Token token, lexer.Next());
  while (token.kind != Token::Kind::kEnd) {
    ASSAY_ASSIGN(MlflowComparison comparison, ComparisonOf(token, lexer));
    filter.push_back(std::move(comparison));
    if (filter.size() > kMostComparisons) return BadRequest("filter: expected at most {} comparisons", kMostComparisons);
    ASSAY_ASSIGN(token, lexer.Next());
    if (token.kind == Token::Kind::kEnd) break;
    if (token.kind != Token::Kind::kWord || LowerOf(token.text) != "and")
      return BadRequest("filter: expected AND, got {}", Quote(token.text));
    ASSAY_ASSIGN(token, lexer.Next());
    if (token.kind == Token::Kind::kEnd) return BadRequest("filter: nothing after AND");
  }
  return filter;
}

bool Fits(const std::vector<MlflowComparison>& filter, const MlflowSubject& subject) {
  return std::ranges::all_of(filter, [&](const MlflowComparison& comparison) { return Fits(comparison, subject); });
}

Outcome<MlflowOrdering> ParseMlflowOrdering(std::string_view text) {
  if (text.size() > kMostText) return BadRequest("order_by: expected at most {} bytes", kMostText);
  Lexer lexer(text);
  ASSAY_ASSIGN(const Token name, lexer.Next());
  if (name.kind != Token::Kind::kWord) return BadRequest("order_by: expected a name, got {}", Quote(text));
  MlflowOrdering ordering;
  ASSAY_ASSIGN(ordering.field, FieldOf(name.text));
  ASSAY_ASSIGN(const Token way, lexer.Next());
  const std::string word = LowerOf(way.text);
  ordering.descending = word == "desc";
  ASSAY_ASSIGN(const Token end, lexer.Next());
  if ((way.kind != Token::Kind::kEnd && word != "asc" && word != "desc") || end.kind != Token::Kind::kEnd)
    return BadRequest("order_by: expected NAME, NAME ASC or NAME DESC, got {}", Quote(text));
  return ordering;
}

bool Before(const std::vector<MlflowOrdering>& by, const MlflowSubject& a, const MlflowSubject& b) {
  for (const MlflowOrdering& ordering : by) {
    const auto one = a(ordering.field), other = b(ordering.field);
    if (one == other) continue;
    if (!one || !other) return one.has_value();
    if (one->index() == other->index()) return ordering.descending ? *other < *one : *one < *other;
  }
  return false;
}

}  // namespace assay::coordinator
