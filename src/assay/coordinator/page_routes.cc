// The page where people look: files that are part of the program, open to all. What it shows it asks the API for, with its visitor's token.
#include <algorithm>

#include "assay/browser/page_files.h"
#include "assay/coordinator/office.h"

namespace assay::coordinator {
namespace {

using browser::PageFile;
using browser::PageFiles;

// Nothing from elsewhere, nothing inline, no frames; WebAssembly for the judge that runs in the browser.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'none'";

// Whether a list of codings, as in Accept-Encoding, has this one with a weight above 0.
bool Accepts(std::string_view list, std::string_view coding) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list = item.size() == list.size() ? std::string_view() : list.substr(item.size() + 1);
    const std::size_t begin = item.find_first_not_of(" \t");
    if (begin == std::string_view::npos || !item.substr(begin).starts_with(coding)) continue;
    const std::string_view rest = item.substr(begin + coding.size());
    const std::size_t weight = rest.find("q=");
    const bool none = weight != std::string_view::npos && rest.find_first_of("123456789", weight) == std::string_view::npos;
    const bool whole = rest.empty() || rest[0] == ';' || rest[0] == ' ' || rest[0] == '\t';
    if (whole && !none) return true;
  }
  return false;
}

// Whether a list of tags, as in If-None-Match, has this one.
bool Names(std::string_view list, std::string_view tag) {
  return list == "*" || list.find(tag) != std::string_view::npos;  // a tag is quoted, and has a hash in it
}

HttpResponse Serve(const PageFile& file, const Call& call) {
  const bool gzip = file.gzip.size() < file.plain.size() && Accepts(call.request.Header("Accept-Encoding"), "gzip");
  const std::string tag = fmt::format("\"{}{}\"", file.hash, gzip ? "-gzip" : "");
  HttpResponse response{.status = 200, .content_type = std::string(file.type)};
  // Names do not change with contents: a browser asks each time whether it has the current one.
  response.headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", kPolicy},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"ETag", tag},
                      {"Referrer-Policy", "no-referrer"},
                      {"Vary", "Accept-Encoding"},
                      {"X-Content-Type-Options", "nosniff"}};
  if (gzip) response.headers.emplace_back("Content-Encoding", "gzip");
  if (Names(call.request.Header("If-None-Match"), tag)) {
    response.status = 304;
    return response;
  }
  const std::span<const std::uint8_t> bytes = gzip ? file.gzip : file.plain;
  response.body.assign(bytes.begin(), bytes.end());
  return response;
}

const PageFile* FindFile(std::string_view name) {
  const auto files = PageFiles();
  const auto found = std::ranges::find(files, name, &PageFile::name);
  return found == files.end() ? nullptr : &*found;
}

}  // namespace

void AddPageRoutes(Routes& routes) {
  const auto one = [](const char* name, const char* missing) {
    return [file = FindFile(name), missing](const Call& call) -> Answer {
      if (file == nullptr) return NotFound("{}", missing);
      return Serve(*file, call);
    };
  };
  for (const char* method : {"GET", "HEAD"}) {
    routes.Add({.method = method,
                .path = "/",
                .summary = "The page where people look",
                .response_schema = "text/html",
                .statuses = {304},
                .quiet = true,
                .answer = one("index.html", "this program was built without its page")});
    routes.Add({.method = method,
                .path = "/judge.wasm",
                .summary = "The judge of evidence, for browsers; 404 where the program was built without it",
                .response_schema = "application/wasm",
                .statuses = {304},
                .quiet = true,
                .answer = one("judge.wasm", "this program was built without the judge for browsers")});
    routes.Add({.method = method,
                .path = "/web/{file}",
                .summary = "A file of the page",
                .response_schema = "*/*",
                .statuses = {304},
                .quiet = true,
                .answer = [](const Call& call) -> Answer {
                  const PageFile* file = FindFile(call.Path("file"));
                  if (file == nullptr) return NotFound("the page has no file of this name");
                  return Serve(*file, call);
                }});
  }
}

}  // namespace assay::coordinator
