// Sealing from file to file.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "assay/base/file.h"
#include "assay/seal/seal.h"

namespace assay {
namespace {

tl::unexpected<Error> SystemError(const std::string& path, const char* doing) {
  return tl::unexpected(Error{fmt::format("{}: cannot {}: {}", path, doing, ::strerror(errno)), true});
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// A plain file from its beginning. Not mapped: others may cut it while it is read.
Result<ByteSource> FileSource(const std::string& path) {
  const auto file = std::make_shared<Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about{};
  if (file->number() < 0 || ::fstat(file->number(), &about) != 0) return SystemError(path, "open");
  if (!S_ISREG(about.st_mode)) return Err("{}: is not a plain file", path);
  return [file, path](std::span<std::uint8_t> out) -> Result<std::size_t> {
    while (true) {
      const ssize_t got = ::read(file->number(), out.data(), out.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return SystemError(path, "read");
    }
  };
}

ByteSink To(FileSink& file) {
  return [&file](ByteSpan bytes) { return file.Write(bytes); };
}

}  // namespace

Result<SealBinding> SealFile(const std::string& plain, std::span<const Recipient> recipients, const std::string& sealed) {
  ASSAY_TRY(seal::CheckCanSeal());
  ASSAY_ASSIGN(const ByteSource source, FileSource(plain));
  std::optional<SealBinding> binding;
  ASSAY_TRY(WriteFileAtomic(sealed, [&](FileSink& file) -> Status {
    ASSAY_ASSIGN(binding, Seal(source, recipients, To(file)));
    return {};
  }));
  return *std::move(binding);
}

Status UnsealFile(const std::string& sealed, std::span<const Identity> identities, const std::string& plain,
                  const BindingCheck& check) {
  ASSAY_TRY(seal::CheckCanSeal());
  ASSAY_ASSIGN(ByteSource source, FileSource(sealed));
  const FileBody body = [&](FileSink& file) { return Unseal(source, identities, To(file), sealed, check); };
  return WriteFileAtomic(plain, body, {.mode = 0600});
}

}  // namespace assay
