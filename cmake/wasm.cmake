# The judge as a WebAssembly module, build/web/judge.wasm: which layers it is made of and, of layers that also need a machine with threads and files, which of
# their files. A file that the judge comes to need and that is missing here is an undefined symbol when the module is linked.
set(ASSAY_WASM_LAYERS base tensor numerics merkle sign rounding graph ops semantics exec model data job run dispute verdict)
set(ASSAY_WASM_FILES_base allowance base64 bytes quote)
set(ASSAY_WASM_FILES_tensor memory_space shape tensor)
set(ASSAY_WASM_FILES_merkle frontier hash_tree proof sha256 sha256_avx2 sha256_avx512 sha256_lanes sha256_portable sha256_shani tensor_hasher tree)
set(ASSAY_WASM_FILES_sign dsse ed25519 ed25519_fast ed25519_field ed25519_own ed25519_point ed25519_scalar key note sha512)
set(ASSAY_WASM_FILES_rounding by_log compress decision decision_segment find_decision inflate log_header paper_log)
set(ASSAY_WASM_FILES_exec init step_nodes)
set(ASSAY_WASM_FILES_model forward gpt2 llama mlp program resnet)
set(ASSAY_WASM_FILES_data arrays augment batch_order batch_root cifar dataset decoder generated open part provable root tokens)
set(ASSAY_WASM_FILES_job belongs characters decode encode fields learning_rate limits resolve rounded_bill)
set(ASSAY_WASM_FILES_run commit_schedule entry entry_rules follows receipt weights_root)
set(ASSAY_WASM_FILES_dispute answer claim evidence evidence_format examine examine_ask examine_node examine_operands examine_output examine_rounded examine_start
    game game_record judge law leaf_records limits node_index opening operands parts question retelling retelling_json scope sparse squares terms)

# Everything is compiled for size, since it is sent, but hashes and signatures, which take most of a judge's time.
set(ASSAY_WASM_FAST merkle sign)

# Of the packages only headers are taken, and of /usr/include, which is the build machine's, only those.
set(headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(name fmt tl nlohmann)
  find_path(ASSAY_HEADERS_${name} ${name} PATHS /usr/include NO_DEFAULT_PATH REQUIRED)
  file(CREATE_LINK ${ASSAY_HEADERS_${name}}/${name} ${headers}/${name} SYMBOLIC)
endforeach()
foreach(name Threads::Threads tl::expected fmt::fmt nlohmann_json::nlohmann_json)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} SYSTEM INTERFACE ${headers})
endforeach()
add_compile_definitions(FMT_HEADER_ONLY=1 FMT_EXCEPTIONS=0 FMT_STATIC_THOUSANDS_SEPARATOR=',' JSON_NOEXCEPTION)
# -fwrapv: a tensor of which a few blocks are there is addressed from its element 0, which may lie below address 0 (dispute/sparse.cc).
# Paths of the build must not be in the module: its bytes are the same wherever it is built.
add_compile_options(-fno-exceptions -fno-rtti -fwrapv -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${PROJECT_BINARY_DIR}/=build/)
set(ASSAY_CCACHE "")
set(ASSAY_PORTABLE ON)

# assay_module(NAME SOURCES source... [LIBRARIES library...]): build/web/NAME.wasm, which exports what its sources say and imports nothing.
function(assay_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  set_target_properties(${name} PROPERTIES SUFFIX .wasm RUNTIME_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/build/web)
  target_link_options(${name} PRIVATE -mexec-model=reactor -Wl,--gc-sections,--strip-all,--stack-first,-z,stack-size=1048576,--max-memory=268435456)
  # What the C library would ask of its host is answered inside (browser/instance.cc).
  target_link_options(${name} PRIVATE -Wl,--wrap=__wasi_clock_time_get,--wrap=__wasi_fd_close,--wrap=__wasi_fd_seek,--wrap=__wasi_fd_write)
endfunction()
