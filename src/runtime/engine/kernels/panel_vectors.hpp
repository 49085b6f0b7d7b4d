// Vectors of AVX2 and AVX-512 by the type of their elements, for what panels are solved with.
#pragma once
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#define CYC_AVX2 __attribute__((target("avx2,fma")))
#define CYC_AVX512 __attribute__((target("avx2,fma,avx512f")))

namespace cyclotron::runtime {

/// Four elements, and squares of them.
template <class T>
struct Quad;

template <>
struct Quad<double> {
  using Vector = __m256d;
  CYC_AVX2 static Vector load(const double* from) { return _mm256_loadu_pd(from); }
  CYC_AVX2 static void store(double* to, Vector x) { _mm256_storeu_pd(to, x); }
  CYC_AVX2 static void transpose(Vector (&rows)[4]) {
    const Vector low01 = _mm256_unpacklo_pd(rows[0], rows[1]);
    const Vector high01 = _mm256_unpackhi_pd(rows[0], rows[1]);
    const Vector low23 = _mm256_unpacklo_pd(rows[2], rows[3]);
    const Vector high23 = _mm256_unpackhi_pd(rows[2], rows[3]);
    rows[0] = _mm256_permute2f128_pd(low01, low23, 0x20);
    rows[1] = _mm256_permute2f128_pd(high01, high23, 0x20);
    rows[2] = _mm256_permute2f128_pd(low01, low23, 0x31);
    rows[3] = _mm256_permute2f128_pd(high01, high23, 0x31);
  }
};

template <>
struct Quad<float> {
  using Vector = __m128;
  CYC_AVX2 static Vector load(const float* from) { return _mm_loadu_ps(from); }
  CYC_AVX2 static void store(float* to, Vector x) { _mm_storeu_ps(to, x); }
  CYC_AVX2 static void transpose(Vector (&rows)[4]) {
    const Vector low01 = _mm_unpacklo_ps(rows[0], rows[1]);
    const Vector high01 = _mm_unpackhi_ps(rows[0], rows[1]);
    const Vector low23 = _mm_unpacklo_ps(rows[2], rows[3]);
    const Vector high23 = _mm_unpackhi_ps(rows[2], rows[3]);
    rows[0] = _mm_movelh_ps(low01, low23);
    rows[1] = _mm_movehl_ps(low23, low01);
    rows[2] = _mm_movelh_ps(high01, high23);
    rows[3] = _mm_movehl_ps(high23, high01);
  }
};

/// The widest vectors of AVX2. `subtract_product(x, y, z)` is x - y z, rounded once.
template <class T>
struct Avx2;

template <>
struct Avx2<double> {
  using Vector = __m256d;
  static constexpr std::int64_t width = 4;
  CYC_AVX2 static Vector load(const double* from) { return _mm256_loadu_pd(from); }
  CYC_AVX2 static void store(double* to, Vector x) { _mm256_storeu_pd(to, x); }
  CYC_AVX2 static Vector all(double x) { return _mm256_set1_pd(x); }
  CYC_AVX2 static Vector multiply(Vector x, Vector y) { return _mm256_mul_pd(x, y); }
  CYC_AVX2 static Vector subtract_product(Vector x, Vector y, Vector z) { return _mm256_fnmadd_pd(y, z, x); }
};

template <>
struct Avx2<float> {
  using Vector = __m256;
  static constexpr std::int64_t width = 8;
  CYC_AVX2 static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  CYC_AVX2 static void store(float* to, Vector x) { _mm256_storeu_ps(to, x); }
  CYC_AVX2 static Vector all(float x) { return _mm256_set1_ps(x); }
  CYC_AVX2 static Vector multiply(Vector x, Vector y) { return _mm256_mul_ps(x, y); }
  CYC_AVX2 static Vector subtract_product(Vector x, Vector y, Vector z) { return _mm256_fnmadd_ps(y, z, x); }
};

/// As `Avx2`.
template <class T>
struct Avx512;

template <>
struct Avx512<double> {
  using Vector = __m512d;
  static constexpr std::int64_t width = 8;
  CYC_AVX512 static Vector load(const double* from) { return _mm512_loadu_pd(from); }
  CYC_AVX512 static void store(double* to, Vector x) { _mm512_storeu_pd(to, x); }
  CYC_AVX512 static Vector all(double x) { return _mm512_set1_pd(x); }
  CYC_AVX512 static Vector multiply(Vector x, Vector y) { return _mm512_mul_pd(x, y); }
  CYC_AVX512 static Vector subtract_product(Vector x, Vector y, Vector z) {
    return _mm512_fnmadd_pd(y, z, x);
  }
};

template <>
struct Avx512<float> {
  using Vector = __m512;
  static constexpr std::int64_t width = 16;
  CYC_AVX512 static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  CYC_AVX512 static void store(float* to, Vector x) { _mm512_storeu_ps(to, x); }
  CYC_AVX512 static Vector all(float x) { return _mm512_set1_ps(x); }
  CYC_AVX512 static Vector multiply(Vector x, Vector y) { return _mm512_mul_ps(x, y); }
  CYC_AVX512 static Vector subtract_product(Vector x, Vector y, Vector z) {
    return _mm512_fnmadd_ps(y, z, x);
  }
};

}  // namespace cyclotron::runtime

#endif
