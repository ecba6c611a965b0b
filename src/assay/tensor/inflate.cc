#include "assay/tensor/inflate.h"

#ifdef ASSAY_HAVE_ZLIB
#include <zlib.h>
#endif

#include <algorithm>

namespace assay {

#ifdef ASSAY_HAVE_ZLIB

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 24;  // zlib counts in 32 bits, and somebody may want to stop

class Stream {
 public:
  Stream(ByteSpan bytes, const Allowance& allowance) : rest_(bytes), allowance_(allowance) {
    ready_ = inflateInit2(&z_, -MAX_WBITS) == Z_OK;
  }
  ~Stream() {
    if (ready_) inflateEnd(&z_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool ended() const { return ended_; }
  bool all_read() const { return rest_.empty(); }
  // Fills `out` as far as the stream goes; the number of bytes written, or nothing where it is none.
  Result<std::size_t> Fill(std::span<std::uint8_t> out) {
    if (!ready_) return Err("zlib has no memory");
    std::size_t done = 0;
    while (!ended_ && done < out.size()) {
      ASSAY_TRY(allowance_.Check());
      const std::size_t in = std::min(rest_.size(), kPiece), room = std::min(out.size() - done, kPiece);
      z_.next_in = const_cast<Bytef*>(rest_.data());  // zlib reads it only
      z_.avail_in = static_cast<uInt>(in);
      z_.next_out = out.data() + done;
      z_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&z_, Z_NO_FLUSH);
      rest_ = rest_.subspan(in - z_.avail_in);
      done += room - z_.avail_out;
      ended_ = status == Z_STREAM_END;
      if (status == Z_BUF_ERROR || (status == Z_OK && rest_.empty() && z_.avail_out != 0))
        return Err("the stream ends too early");
      if (status != Z_OK && !ended_) return Err("the stream is none");
    }
    return done;
  }

 private:
  z_stream z_{};
  ByteSpan rest_;
  const Allowance& allowance_;
  bool ready_ = false, ended_ = false;
};

Error Named(std::string_view what, const Error& error) {
  return error.system ? error : Error{fmt::format("{}: deflated: {}", what, error.message)};
}

}  // namespace

bool CanInflate() { return true; }

Result<Bytes> InflateStart(ByteSpan stream, std::size_t size, std::string_view what) {
  const Allowance everything;
  Stream in(stream, everything);
  Bytes out(size);
  const auto got = in.Fill(out);
  if (!got) return tl::unexpected(Named(what, got.error()));
  out.resize(*got);
  return out;
}

Result<Bytes> Inflate(ByteSpan stream, std::size_t size, std::string_view what, const Allowance& allowance) {
  Stream in(stream, allowance);
  Bytes out(size);
  const auto got = in.Fill(out);
  if (!got) return tl::unexpected(Named(what, got.error()));
  // The end may be coded after the last byte.
  std::uint8_t extra[1];
  const auto more = in.ended() ? Result<std::size_t>(0) : in.Fill(extra);
  if (!more) return tl::unexpected(Named(what, more.error()));
  if (*got != size || *more != 0 || !in.ended() || !in.all_read()) {
    return Err("{}: deflated: expected a stream of {} bytes", what, size);
  }
  return out;
}

#else

bool CanInflate() { return false; }

namespace {
Error Without(std::string_view what) {
  return {fmt::format("{}: is deflated, and this build has no zlib to read it with; save it uncompressed (numpy.savez)", what)};
}
}  // namespace

Result<Bytes> InflateStart(ByteSpan, std::size_t, std::string_view what) { return tl::unexpected(Without(what)); }
Result<Bytes> Inflate(ByteSpan, std::size_t, std::string_view what, const Allowance&) { return tl::unexpected(Without(what)); }

#endif

}  // namespace assay
