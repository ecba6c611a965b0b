# Compiler settings and the helpers that declare layers and tests.

if(ASSAY_WASM)
  include(${CMAKE_CURRENT_LIST_DIR}/wasm.cmake)
else()
  find_package(Threads REQUIRED)
  find_package(tl-expected REQUIRED)
endif()

# Cross builds and binaries for machines without our packages take fmt's header-only form and link nothing of the build machine.
option(ASSAY_BUNDLED "Link third-party libraries into the binary" OFF)
if(TARGET fmt::fmt)
  # as it is
elseif(CMAKE_CROSSCOMPILING OR ASSAY_BUNDLED)
  add_library(assay_fmt INTERFACE)
  target_compile_definitions(assay_fmt INTERFACE FMT_HEADER_ONLY=1)
  add_library(fmt::fmt ALIAS assay_fmt)
else()
  find_package(fmt REQUIRED)
endif()

find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ASSAY_CCACHE})
endif()

add_library(assay_options INTERFACE)
target_include_directories(assay_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
# The numeric contract: no contraction, no value-changing optimisation. Every target of ours is compiled with these.
target_compile_options(assay_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -fno-fast-math -Wall -Wextra -Wconversion -Wshadow -Werror>
  # What gcc's optimizer believes about bounds is at times wrong, and differs from run to run with precompiled headers: said, not fatal.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=array-bounds -Wno-error=restrict -Wno-error=stringop-overflow -Wno-error=stringop-overread
    -Wno-error=maybe-uninitialized>
  # fmt would do without constexpr under nvcc, which its own code does not survive.
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=$<IF:$<BOOL:$<TARGET_PROPERTY:ASSAY_FUSED>>,true,false> --ftz=false --prec-div=true --prec-sqrt=true --expt-relaxed-constexpr -DFMT_USE_CONSTEXPR=1
    -Xcompiler=-ffp-contract=off,-Wall>)
target_link_libraries(assay_options INTERFACE tl::expected fmt::fmt Threads::Threads)
if(ASSAY_FUZZ)  # coverage for the fuzzer in everything that the targets reach
  target_compile_options(assay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Layers in which no time is spent, and tests, are compiled with less effort, which shortens builds by about a fifth there.
add_library(assay_light INTERFACE)
if(NOT ASSAY_WASM)
  target_compile_options(assay_light INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endif()
set(ASSAY_LIGHT_LAYERS store graph ops model job net monitor run train tracking audit dispute verdict browser life platform coordinator service worker client cli)

# A good part of what a file costs to compile is the same few headers. Without a compiler cache, which does not go well with it, they are compiled
# once; targets that are compiled in the same way share them.
set(ASSAY_PCH OFF)
if(NOT ASSAY_CCACHE)
  set(ASSAY_PCH ON)
endif()
set(ASSAY_COMMON_HEADERS <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map> <memory>
  <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>
  <tl/expected.hpp> ${PROJECT_SOURCE_DIR}/src/assay/backend/backend.h ${PROJECT_SOURCE_DIR}/src/assay/graph/graph.h)
# Of light layers and of tests.
set(ASSAY_LIGHT_HEADERS ${ASSAY_COMMON_HEADERS} <nlohmann/json.hpp> ${PROJECT_SOURCE_DIR}/src/assay/run/directory.h
  ${PROJECT_SOURCE_DIR}/src/assay/run/receipt.h ${PROJECT_SOURCE_DIR}/src/assay/train/stepper.h)
if(ASSAY_WASM)
  list(REMOVE_ITEM ASSAY_COMMON_HEADERS <filesystem> <mutex> <thread>)
  set(ASSAY_LIGHT_HEADERS ${ASSAY_COMMON_HEADERS} <nlohmann/json.hpp>)
endif()

# assay_headers(NAME HEADERS header... LIBRARIES library...): headers that assay_share_headers(TARGET NAME) gives to a target.
function(assay_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBRARIES" ${ARGN})
  if(ASSAY_PCH)
    file(WRITE ${PROJECT_BINARY_DIR}/${name}.cc "")
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cc)
    target_link_libraries(${name} PRIVATE assay_options ${ARG_LIBRARIES})
    target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  endif()
endfunction()

function(assay_share_headers target name)
  if(ASSAY_PCH)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# The tests of a folder and of the folders in it: those that use GoogleTest share its header too.
function(assay_share_test_headers folder)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(options ${target} COMPILE_OPTIONS)
    if(NOT type MATCHES "^(EXECUTABLE|STATIC_LIBRARY)$" OR NOT libraries MATCHES "assay_|GTest::")  # GoogleTest itself, where it is compiled here
      continue()
    endif()
    assay_batch(${target})
    if(options)  # with options of its own it is compiled in another way
      continue()
    endif()
    target_link_libraries(${target} PRIVATE assay_light)
    if(libraries MATCHES "GTest::")
      assay_share_headers(${target} assay_test_headers)
    else()
      assay_share_headers(${target} assay_light_headers)
    endif()
  endforeach()
  foreach(below IN LISTS folders)
    assay_share_test_headers(${below})
  endforeach()
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/batches.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/page.cmake)

assay_headers(assay_layer_headers HEADERS ${ASSAY_COMMON_HEADERS})
assay_headers(assay_light_headers HEADERS ${ASSAY_LIGHT_HEADERS} LIBRARIES assay_light)

# assay_layer(NAME [DEPENDS layer...]): the library assay_NAME from the .cc files of the current folder (tests, benchmarks and fuzz
# targets left out). A layer sees only the layers it names.
function(assay_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc *.cu)
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/browser/(instance|module)\\.cc$")  # of another build (wasm.cmake)
  if(ASSAY_WASM AND DEFINED ASSAY_WASM_FILES_${name})
    list(JOIN ASSAY_WASM_FILES_${name} "|" files)
    list(FILTER sources INCLUDE REGEX "/(${files})\\.cc$")
  endif()
  set(visibility PUBLIC)
  if(sources)
    add_library(assay_${name} STATIC ${sources})
    if(ASSAY_WASM AND name IN_LIST ASSAY_WASM_FAST)
      target_compile_options(assay_${name} PRIVATE -O2)  # in another way than the common headers
    elseif(name IN_LIST ASSAY_LIGHT_LAYERS)
      target_link_libraries(assay_${name} PRIVATE assay_light)  # not for those that use it: backends use the graph's headers
      assay_share_headers(assay_${name} assay_light_headers)
    else()
      assay_share_headers(assay_${name} assay_layer_headers)
    endif()
    if(NOT name IN_LIST ASSAY_FILE_BY_FILE)
      cmake_language(EVAL CODE "cmake_language(DEFER CALL assay_batch assay_${name})")  # once the folder has set the options of single files
    endif()
  else()
    add_library(assay_${name} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_link_libraries(assay_${name} ${visibility} assay_options)
  foreach(dependency IN LISTS ARG_DEPENDS)
    if(ASSAY_WASM AND NOT TARGET assay_${dependency})
      continue()
    endif()
    target_link_libraries(assay_${name} ${visibility} assay_${dependency})
  endforeach()
  if(ASSAY_TESTS)
    file(GLOB tests CONFIGURE_DEPENDS *_test.cc)
    if(tests)
      set_property(GLOBAL APPEND PROPERTY ASSAY_UNIT_TESTS ${name})
      set_property(GLOBAL PROPERTY ASSAY_UNIT_SOURCES_${name} ${tests})
    endif()
  endif()
endfunction()

# Highway, headers only: kernels are chosen by our own table, not by Highway's dispatcher. It is restricted to instruction sets with a fused
# multiply-add instruction, because its MulAdd rounds twice on the others (bits 8, 9, 28: AVX-512, AVX2, NEON).
if(NOT ASSAY_PORTABLE)
  find_path(HWY_INCLUDE_DIR hwy/highway.h REQUIRED)
  add_library(assay_hwy INTERFACE)
  target_include_directories(assay_hwy SYSTEM INTERFACE ${HWY_INCLUDE_DIR})
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_definitions(assay_hwy INTERFACE
      "HWY_DISABLED_TARGETS=(0xffffffffLL&~((1LL<<8)|(1LL<<9)))" "HWY_BASELINE_TARGETS=(1LL<<9)")
  else()
    target_compile_definitions(assay_hwy INTERFACE "HWY_DISABLED_TARGETS=(0xffffffffLL&~(1LL<<28))")
  endif()
endif()

# CUDA, where its compiler is found: AUTO, ON (an error where it is not) or OFF. The kernels hold code for compute capability 8.0 and 9.0, and
# code that newer devices compile for themselves.
set(ASSAY_CUDA_BUILD AUTO CACHE STRING "Build the CUDA backend: AUTO, ON or OFF")
set(ASSAY_CUDA OFF)
if(NOT ASSAY_CUDA_BUILD STREQUAL "OFF" AND NOT CMAKE_CROSSCOMPILING AND NOT ASSAY_PORTABLE AND NOT ASSAY_FUZZ)
  find_program(ASSAY_NVCC nvcc HINTS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin)
  if(ASSAY_NVCC)
    set(CMAKE_CUDA_COMPILER ${ASSAY_NVCC})
    set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "Compute capabilities")
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc speaks C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    find_package(CUDAToolkit REQUIRED)
    set(ASSAY_CUDA ON)
  elseif(ASSAY_CUDA_BUILD STREQUAL "ON")
    message(FATAL_ERROR "ASSAY_CUDA_BUILD is ON, but nvcc was not found")
  endif()
endif()
