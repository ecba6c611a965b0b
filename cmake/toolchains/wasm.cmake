# WebAssembly with Debian's clang 19, wasi-libc and libc++ for it: no threads, no files, no exceptions. What is built imports nothing of its host.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(ASSAY_WASM ON)
