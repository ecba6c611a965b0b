# cmake -DFILES="a.html;b.js" -DOUT=page.cc -P embed_page.cmake: writes a source file that holds the bytes of these files, as they are and compressed by gzip.
cmake_minimum_required(VERSION 3.25)

set(TYPE_html "text/html; charset=utf-8")
set(TYPE_css "text/css; charset=utf-8")
set(TYPE_js "text/javascript; charset=utf-8")
set(TYPE_svg "image/svg+xml")
set(TYPE_wasm "application/wasm")

# The bytes of a file as the items of an array. gzip's note of the time is left out: the same sources give the same binary.
function(bytes_of out path is_gzip)
  file(READ ${path} hex HEX)
  if(is_gzip)
    string(SUBSTRING "${hex}" 0 8 head)
    string(SUBSTRING "${hex}" 16 -1 rest)
    set(hex "${head}00000000${rest}")
  endif()
  string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
  set(${out} "${hex}" PARENT_SCOPE)
endfunction()

set(arrays)
set(rows)
set(number 0)
foreach(file IN LISTS FILES)
  cmake_path(GET file FILENAME name)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  string(SUBSTRING "${extension}" 1 -1 extension)
  file(ARCHIVE_CREATE OUTPUT ${OUT}.gz PATHS ${file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  bytes_of(plain ${file} FALSE)
  bytes_of(gzip ${OUT}.gz TRUE)
  file(REMOVE ${OUT}.gz)
  file(SHA256 ${file} hash)
  string(APPEND arrays "constexpr std::uint8_t kPlain${number}[] = {${plain}};\nconstexpr std::uint8_t kGzip${number}[] = {${gzip}};\n")
  string(APPEND rows "    {\"${name}\", \"${TYPE_${extension}}\", \"${hash}\", kPlain${number}, kGzip${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT}.new "// Written by cmake/embed_page.cmake from web/.
#include \"assay/browser/page_files.h\"

namespace assay::browser {
namespace {
${arrays}constexpr PageFile kFiles[] = {
${rows}};
}  // namespace
std::span<const PageFile> PageFiles() { return kFiles; }
}  // namespace assay::browser
")
file(RENAME ${OUT}.new ${OUT})
