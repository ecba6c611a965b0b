# The page of web/, as a library that holds its files: what is served is what stands there, without a bundler.

# assay_page(TARGET FOLDER file...): every .html, .css, .js and .svg of the folder, and the other files, as they are and compressed (browser/page_files.h).
function(assay_page target folder)
  file(GLOB files CONFIGURE_DEPENDS ${folder}/*.html ${folder}/*.css ${folder}/*.js ${folder}/*.svg)
  list(APPEND files ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DOUT=${out} -P ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    COMMENT "Embedding the page" VERBATIM)
  add_library(${target} STATIC ${out})
  target_link_libraries(${target} PRIVATE assay_options)
endfunction()
