// The names of BLAS's functions in PyPI's scipy-openblas32, whose .pc defines BLAS_SYMBOL_PREFIX: wheels have it.
#pragma once
#ifdef BLAS_SYMBOL_PREFIX
#define CYC_BLAS_JOIN(prefix, name) prefix##name
#define CYC_BLAS_NAME(prefix, name) CYC_BLAS_JOIN(prefix, name)
#define cblas_sgemm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_sgemm)
#define cblas_dgemm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_dgemm)
#define cblas_cgemm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_cgemm)
#define cblas_zgemm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_zgemm)
#define cblas_ssyrk CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_ssyrk)
#define cblas_dsyrk CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_dsyrk)
#define cblas_csyrk CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_csyrk)
#define cblas_zsyrk CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_zsyrk)
#define cblas_strsm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_strsm)
#define cblas_dtrsm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_dtrsm)
#define cblas_ctrsm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_ctrsm)
#define cblas_ztrsm CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cblas_ztrsm)
#define spotrf_ CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, spotrf_)
#define dpotrf_ CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, dpotrf_)
#define cpotrf_ CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, cpotrf_)
#define zpotrf_ CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, zpotrf_)
#define openblas_set_num_threads CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, openblas_set_num_threads)
#define openblas_get_num_threads CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, openblas_get_num_threads)
#define openblas_get_config CYC_BLAS_NAME(BLAS_SYMBOL_PREFIX, openblas_get_config)
#endif
