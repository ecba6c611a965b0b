set(ASSAY_CROSS_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/linux-cross.cmake)
# Highway's NEON target wants the AES and SHA instructions in the baseline.
set(CMAKE_CXX_FLAGS_INIT -march=armv8-a+crypto)
