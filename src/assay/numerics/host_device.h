// ASSAY_HD marks functions that are compiled for the host and, in .cu files, for the device as well.
#pragma once

#ifdef __CUDACC__
#define ASSAY_HD __host__ __device__
#else
#define ASSAY_HD
#endif
