# Debian's cross compilers with static linking, so that qemu-user needs no foreign system root. The header-only libraries of the build
# machine (/usr/include) are searched by these compilers by themselves.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${ASSAY_CROSS_PROCESSOR})
set(CMAKE_CXX_COMPILER ${ASSAY_CROSS_PROCESSOR}-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${ASSAY_CROSS_PROCESSOR})
