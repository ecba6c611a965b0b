// A job's identity.
#include "assay/job/fields.h"

namespace assay {
namespace {

class Encoder : public job::FieldVisitor {
 public:
  explicit Encoder(ByteWriter& out) : out_(out) {}
  bool OfEncoding() const override { return true; }
  void Section(std::string_view name) override { section_ = name; }
  void Int(std::string_view key, std::int64_t& v, std::int64_t, std::int64_t) override {
    if (Begin(key, 1)) out_.I64(v);
  }
  void Derived(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high, std::string_view) override {
    Int(key, v, low, high);
  }
  void Rare(std::string_view key, std::int64_t& v, std::int64_t low, std::int64_t high) override {
    if (v != 0) Int(key, v, low, high);
  }
  void Float(std::string_view key, float& v, job::FloatRange) override {
    if (Begin(key, 2)) out_.F32(v);
  }
  void RareFloat(std::string_view key, float& v, float usual, job::FloatRange range) override {
    if (v != usual) Float(key, v, range);
  }
  void Bool(std::string_view key, bool& v) override {
    if (Begin(key, 3)) out_.U8(v ? 1 : 0);
  }
  void RareBool(std::string_view key, bool& v) override {
    if (v) Bool(key, v);
  }
  void Text(std::string_view key, std::string& v) override {
    if (Begin(key, 4)) out_.String(v);
  }
  void Path(std::string_view, std::string&) override {}
  void Hash(std::string_view key, std::optional<Digest>& v) override {
    if (v && Begin(key, 4)) out_.String(v->hex());
  }
  void Choice(std::string_view key, std::size_t& v, std::span<const std::string_view> names, bool) override {
    if (Begin(key, 4)) out_.String(names[v]);
  }
  void Ints(std::string_view key, std::vector<std::int64_t>& v, std::int64_t, std::int64_t, std::size_t) override {
    if (!Begin(key, 5)) return;
    out_.U64(v.size());
    for (std::int64_t i : v) out_.I64(i);
  }
  void OpNumbers(std::string_view key, std::map<std::string, float>& v, job::FloatRange) override {
    if (v.empty() || !Begin(key, 6)) return;
    out_.U64(v.size());
    for (const auto& [op, number] : v) {
      out_.String(op);
      out_.F32(number);
    }
  }

 private:
  bool Begin(std::string_view key, std::uint8_t type) {
    if (!job::Identifies(section_, key)) return false;
    out_.String(section_.empty() ? std::string(key) : fmt::format("{}.{}", section_, key));
    out_.U8(type);
    return true;
  }
  ByteWriter& out_;
  std::string section_;
};

}  // namespace

// Keys that cannot change a bit of the state: labels, places, what is watched and kept. Everything about the data that matters is in its
// root, apart from how samples are cut, laid out and varied.
bool job::Identifies(std::string_view section, std::string_view key) {
  if (section.empty()) return key != "name";
  if (section == "data") return key == "stride" || key == "augment" || key == "layout";
  return section != "eval" && section != "snapshot" && section != "init";
}

Bytes Encode(const Job& job, const JobInputs& inputs) {
  ByteWriter out;
  out.Raw(AsBytes(job::kMagic));
  out.U32(job::kVersion);
  out.String(job::kOrderRule);
  out.Raw(inputs.data.bytes);
  out.U8(inputs.weights ? 1 : 0);
  if (inputs.weights) out.Raw(inputs.weights->bytes);
  Encoder encoder(out);
  Job copy = job;
  job::Visit(encoder, copy);
  return out.Take();
}

// The seed is a number of 63 bits, as in a job file.
std::uint64_t SeedFrom(const Digest& data, const Digest& commitment) {
  ByteWriter out;
  out.Raw(AsBytes("assay/seed/1"));
  out.Raw(data.bytes);
  out.Raw(commitment.bytes);
  const Digest digest = HashBytes(out.bytes());
  std::uint64_t seed = 0;
  for (std::size_t i = 8; i-- > 0;) seed = seed << 8 | digest.bytes[i];
  return seed & ~(std::uint64_t{1} << 63);
}

Digest JobId(const Job& job, const JobInputs& inputs, const Program& program) {
  return JobId(Encode(job, inputs), Encode(program));
}

Digest JobId(ByteSpan job, ByteSpan program) {
  ByteWriter out;
  out.Blob(job);
  out.Blob(program);
  return HashBytes(out.bytes());
}

}  // namespace assay
