// BLAS and LAPACK by overload, row-major, leading dimensions compact.
#pragma once
#include <cblas.h>

#include <complex>

#include "blas_names.hpp"

extern "C" {
// Fortran LAPACK; the hidden length of the character argument comes last.
void spotrf_(const char* triangle, const int* n, float* a, const int* lda, int* info, std::size_t length);
void dpotrf_(const char* triangle, const int* n, double* a, const int* lda, int* info, std::size_t length);
void cpotrf_(const char* triangle, const int* n, void* a, const int* lda, int* info, std::size_t length);
void zpotrf_(const char* triangle, const int* n, void* a, const int* lda, int* info, std::size_t length);
}

namespace cyclotron::runtime::blas {

using ComplexFloat = std::complex<float>;
using ComplexDouble = std::complex<double>;

struct Gemm {
  CBLAS_TRANSPOSE transpose_a, transpose_b;
  int m, n, k, lda, ldb, ldc;
};

inline void gemm(const Gemm& g, float alpha, const float* a, const float* b, float beta, float* c) {
  cblas_sgemm(CblasRowMajor, g.transpose_a, g.transpose_b, g.m, g.n, g.k, alpha, a, g.lda, b, g.ldb, beta, c,
              g.ldc);
}
inline void gemm(const Gemm& g, double alpha, const double* a, const double* b, double beta, double* c) {
  cblas_dgemm(CblasRowMajor, g.transpose_a, g.transpose_b, g.m, g.n, g.k, alpha, a, g.lda, b, g.ldb, beta, c,
              g.ldc);
}
inline void gemm(const Gemm& g, ComplexFloat alpha, const ComplexFloat* a, const ComplexFloat* b,
                 ComplexFloat beta, ComplexFloat* c) {
  cblas_cgemm(CblasRowMajor, g.transpose_a, g.transpose_b, g.m, g.n, g.k, &alpha, a, g.lda, b, g.ldb, &beta,
              c, g.ldc);
}
inline void gemm(const Gemm& g, ComplexDouble alpha, const ComplexDouble* a, const ComplexDouble* b,
                 ComplexDouble beta, ComplexDouble* c) {
  cblas_zgemm(CblasRowMajor, g.transpose_a, g.transpose_b, g.m, g.n, g.k, &alpha, a, g.lda, b, g.ldb, &beta,
              c, g.ldc);
}

/// c <- alpha a @ a.T + beta c, lower triangle only; a is n x k.
inline void syrk(int n, int k, float alpha, const float* a, float beta, float* c) {
  cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, alpha, a, k, beta, c, n);
}
inline void syrk(int n, int k, double alpha, const double* a, double beta, double* c) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, alpha, a, k, beta, c, n);
}
inline void syrk(int n, int k, ComplexFloat alpha, const ComplexFloat* a, ComplexFloat beta,
                 ComplexFloat* c) {
  cblas_csyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, &alpha, a, k, &beta, c, n);
}
inline void syrk(int n, int k, ComplexDouble alpha, const ComplexDouble* a, ComplexDouble beta,
                 ComplexDouble* c) {
  cblas_zsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, k, &alpha, a, k, &beta, c, n);
}

struct Trsm {
  CBLAS_SIDE side;
  CBLAS_UPLO triangle;
  CBLAS_TRANSPOSE transpose;
  CBLAS_DIAG diagonal;
  int m, n, lda;
};

inline void trsm(const Trsm& t, const float* a, float* b) {
  cblas_strsm(CblasRowMajor, t.side, t.triangle, t.transpose, t.diagonal, t.m, t.n, 1, a, t.lda, b, t.n);
}
inline void trsm(const Trsm& t, const double* a, double* b) {
  cblas_dtrsm(CblasRowMajor, t.side, t.triangle, t.transpose, t.diagonal, t.m, t.n, 1, a, t.lda, b, t.n);
}
inline void trsm(const Trsm& t, const ComplexFloat* a, ComplexFloat* b) {
  const ComplexFloat one = 1;
  cblas_ctrsm(CblasRowMajor, t.side, t.triangle, t.transpose, t.diagonal, t.m, t.n, &one, a, t.lda, b, t.n);
}
inline void trsm(const Trsm& t, const ComplexDouble* a, ComplexDouble* b) {
  const ComplexDouble one = 1;
  cblas_ztrsm(CblasRowMajor, t.side, t.triangle, t.transpose, t.diagonal, t.m, t.n, &one, a, t.lda, b, t.n);
}

/// Lower factor of a row-major matrix, which LAPACK sees as the upper one of the transpose. Returns LAPACK's
/// info.
inline int potrf(int n, float* a) {
  int info = 0;
  spotrf_("U", &n, a, &n, &info, 1);
  return info;
}
inline int potrf(int n, double* a) {
  int info = 0;
  dpotrf_("U", &n, a, &n, &info, 1);
  return info;
}
inline int potrf(int n, ComplexFloat* a) {
  int info = 0;
  cpotrf_("U", &n, a, &n, &info, 1);
  return info;
}
inline int potrf(int n, ComplexDouble* a) {
  int info = 0;
  zpotrf_("U", &n, a, &n, &info, 1);
  return info;
}

}  // namespace cyclotron::runtime::blas
