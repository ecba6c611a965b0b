// Attention and its gradients look at one sequence of a batch and at one head of keys. What belongs to a query is made of that query and the keys that it
// sees; what belongs to a key, of all queries that see it, each of which must still see as many keys as it did. Random draws are counted from where the op
// counts them.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/ops/attention_geometry.h"
#include "assay/ops/digits.h"
#include "assay/ops/narrow_kinds.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

constexpr int kQ = 0, kK = 1, kV = 2, kO = 3, kLse = 4, kDo = 5, kGradRng = 6;  // inputs of attention_grad
constexpr int kRng = 3;                                                         // of attention
constexpr std::int64_t kRngWords = 4;

AttentionGeometry GeometryOf(const OpInstance& op) { return GeometryOfAttention(op.attrs, op.in[kQ].shape, op.in[kK].shape); }

// Queries and keys of one sequence and one head of keys that make up the small op.
struct Cut {
  const AttentionGeometry& g;
  std::int64_t b;
  Range heads;    // of queries; they look at the same keys
  Range queries;  // all, or one
  Range keys;     // from the first on

  static Cut OfQuery(const AttentionGeometry& g, std::int64_t b, std::int64_t head, std::int64_t i) {
    return {g, b, {head, head + 1}, {i, i + 1}, {0, g.Visible(i)}};
  }
  static Cut OfKeys(const AttentionGeometry& g, std::int64_t b, std::int64_t key_head) {
    return {g, b, {key_head * g.group(), (key_head + 1) * g.group()}, {0, g.tq}, {0, g.tk}};
  }

  TensorType QueryType() const { return F32({1, queries.size(), heads.size(), g.d}); }
  TensorType KeyType() const { return F32({1, keys.size(), 1, g.d}); }
  TensorType LseType() const { return F32({1, heads.size(), queries.size()}); }
  // The last one is of the small op alone (attention_geometry.h). Rounded ops have no digits.
  Attrs AttrsOf(const OpInstance& op) const {
    Attrs attrs = op.attrs;
    ASSAY_CHECK(DigitsOf(op) == 0);
    attrs.Append(std::int64_t{0});
    attrs.Append(g.Element(b, heads.begin, queries.begin, 0));
    return attrs;
  }

  void AddQueries(Narrowed& to, int input, Range rows) const {
    AddPiece(to, {input, g.QueryRow(b, rows.begin, heads.begin), heads.size() * g.d, g.hq * g.d, rows.size()}, input,
             (rows.begin - queries.begin) * heads.size() * g.d);
  }
  void AddKeys(Narrowed& to, int input, Range rows) const {
    AddPiece(to, {input, g.KeyRow(b, rows.begin, g.KeyHead(heads.begin)), g.d, g.hkv * g.d, rows.size()}, input,
             rows.begin * g.d);
  }
  void AddLse(Narrowed& to, Range rows) const {
    for (std::int64_t h = heads.begin; h < heads.end; ++h) {
      AddPiece(to, RunOf(kLse, g.Lse(b, h, rows.begin), rows.size()), kLse,
               (h - heads.begin) * queries.size() + rows.begin - queries.begin);
    }
  }
};

// An element of a tensor [batch, t, h, d].
struct Place {
  Place(std::int64_t element, std::int64_t t, std::int64_t h, std::int64_t d)
      : b(element / (t * h * d)), row(element / (h * d) % t), head(element / d % h), column(element % d) {}
  std::int64_t b, row, head, column;
};

// Both ops read q, k, v.
Narrowed Make(const OpInstance& op, const Cut& cut, std::int64_t element) {
  return {.op = {.def = op.def,
                 .attrs = cut.AttrsOf(op),
                 .in = {cut.QueryType(), cut.KeyType(), cut.KeyType()},
                 .out = {cut.QueryType()}},
          .element = element};
}

void AddDraws(Narrowed& to, const AttentionGeometry& g, int input, const TensorType& type) {
  to.op.in.push_back(type);
  if (g.dropout > 0) AddPiece(to, RunOf(input, 0, kRngWords), input);
}

}  // namespace

Narrowed NarrowAttention(const OpInstance& op, int output, std::int64_t element) {
  const AttentionGeometry g = GeometryOf(op);
  if (output == 1) {  // [batch, hq, tq]; needs neither values nor draws
    const Cut cut = Cut::OfQuery(g, element / (g.hq * g.tq), element / g.tq % g.hq, element % g.tq);
    Narrowed narrowed = Make(op, cut, 0);
    narrowed.op.out.push_back(cut.LseType());
    narrowed.op.in.push_back(op.in[kRng]);
    cut.AddQueries(narrowed, kQ, cut.queries);
    cut.AddKeys(narrowed, kK, cut.keys);
    return narrowed;
  }
  const Place at(element, g.tq, g.hq, g.d);
  const Cut cut = Cut::OfQuery(g, at.b, at.head, at.row);
  Narrowed narrowed = Make(op, cut, at.column);
  narrowed.op.out.push_back(cut.LseType());
  cut.AddQueries(narrowed, kQ, cut.queries);
  for (int k : {kK, kV}) cut.AddKeys(narrowed, k, cut.keys);
  AddDraws(narrowed, g, kRng, op.in[kRng]);
  return narrowed;
}

Narrowed NarrowAttentionGrad(const OpInstance& op, int output, std::int64_t element) {
  const AttentionGeometry g = GeometryOf(op);
  const bool of_query = output == 0, of_value = output == 2;
  const Place at = of_query ? Place(element, g.tq, g.hq, g.d) : Place(element, g.tk, g.hkv, g.d);
  const Cut cut = of_query ? Cut::OfQuery(g, at.b, at.head, at.row) : Cut::OfKeys(g, at.b, at.head);
  Narrowed narrowed = Make(op, cut, of_query ? at.column : at.row * g.d + at.column);
  narrowed.op.in.insert(narrowed.op.in.end(), {cut.QueryType(), cut.LseType(), cut.QueryType()});
  narrowed.op.out.insert(narrowed.op.out.end(), 2, cut.KeyType());
  const Range queries = of_query ? cut.queries : Range{g.FirstQuery(at.row), g.tq};
  const Range keys = of_query ? cut.keys : Range{at.row, at.row + 1};
  cut.AddQueries(narrowed, kQ, queries);
  cut.AddKeys(narrowed, kK, keys);
  if (!of_value) {
    cut.AddKeys(narrowed, kV, keys);
    cut.AddQueries(narrowed, kO, queries);
  }
  cut.AddLse(narrowed, queries);
  cut.AddQueries(narrowed, kDo, queries);
  AddDraws(narrowed, g, kGradRng, op.in[kGradRng]);
  return narrowed;
}

std::int64_t MaxAttentionWords(const OpInstance& op) {
  const AttentionGeometry g = GeometryOf(op);
  const std::int64_t draws = g.dropout > 0 ? kRngWords : 0;
  if (op.out.size() == 2) return g.d + 2 * g.tk * g.d + draws;
  const std::int64_t query = 3 * g.d + 1;
  return std::max(query + 2 * g.tk * g.d, g.group() * g.tq * query + 2 * g.d) + draws;
}

}  // namespace assay::ops
