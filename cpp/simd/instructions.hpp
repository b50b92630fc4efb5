// Instructions of x86-64 and Arm that the vector extensions of GCC and Clang have no operator for: fma, √,
// gather, partial loads and stores, tests of masks, and the control of floating-point arithmetic. No other
// file names one.
//
// Functions of lanes work on one register, or on a single number (W = 1). The tag Isa keeps the bodies of
// instruction sets apart.
#pragma once

#include "simd/vectors.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace pysim::simd {

/// Bytes of a register. Isa is the tag of the instruction set being compiled: without it all sets would
/// share one body.
template <class Isa>
constexpr std::size_t register_bytes() {
#if defined(__AVX512F__)
  return 64;
#elif defined(__AVX__)
  return 32;
#else
  return 16;
#endif
}

/// Whether fma rounds once.
template <class Isa>
constexpr bool has_fma() {
#if defined(__FMA__)
  return true;
#else
  return false;
#endif
}

template <class Real, int W>
using LanesIn = typename Vector<Real, W>::type;

/// a·b + c with one rounding where the processor's x86-64 set has it, else a·b + c: Arm, too, has the bits of
/// the baseline. A loop of `fused` over the lanes compiles to scalar code inside a large kernel.
template <class Real, int W, class Isa>
PYSIM_INLINE LanesIn<Real, W> fma_lanes(LanesIn<Real, W> a, LanesIn<Real, W> b, LanesIn<Real, W> c) {
#if defined(__FMA__)
  constexpr std::size_t bytes = W * sizeof(Real);
  constexpr bool is_double = sizeof(Real) == 8;
  if constexpr (W == 1) {
    return fused(a, b, c);
  }
#if defined(__AVX512F__)
  else if constexpr (bytes == 64 && is_double) {
    return _mm512_fmadd_pd(a, b, c);
  } else if constexpr (bytes == 64) {
    return _mm512_fmadd_ps(a, b, c);
  }
#endif
  else if constexpr (bytes == 32 && is_double) {
    return _mm256_fmadd_pd(a, b, c);
  } else if constexpr (bytes == 32) {
    return _mm256_fmadd_ps(a, b, c);
  } else if constexpr (is_double) {
    return _mm_fmadd_pd(a, b, c);
  } else {
    return _mm_fmadd_ps(a, b, c);
  }
#else
  return a * b + c;
#endif
}

template <class Real, int W, class Isa>
PYSIM_INLINE LanesIn<Real, W> sqrt_lanes(LanesIn<Real, W> a) {
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
  if constexpr (W == 1) {
    return square_root(a);
  }
#if defined(__AVX512F__)
  else if constexpr (bytes == 64 && is_double) {
    return _mm512_maskz_sqrt_pd(0xff, a);
  } else if constexpr (bytes == 64) {
    return _mm512_maskz_sqrt_ps(0xffff, a);
  }
#endif
#if defined(__AVX__)
  else if constexpr (bytes == 32 && is_double) {
    return _mm256_sqrt_pd(a);
  } else if constexpr (bytes == 32) {
    return _mm256_sqrt_ps(a);
  }
#endif
#if defined(__x86_64__)
  else if constexpr (bytes == 16 && is_double) {
    return _mm_sqrt_pd(a);
  } else if constexpr (bytes == 16) {
    return _mm_sqrt_ps(a);
  }
#elif defined(__aarch64__)
  else if constexpr (bytes == 16 && is_double) {
    return vsqrtq_f64(a);
  } else if constexpr (bytes == 16) {
    return vsqrtq_f32(a);
  }
#endif
  else {
    for (int k = 0; k < W; ++k) a[k] = square_root(a[k]);
    return a;
  }
}

/// Whether a bit is set in the lanes of a mask.
template <class Lanes>
PYSIM_INLINE bool any_bit(Lanes lanes) {
#if defined(__AVX512F__)
  if constexpr (sizeof(lanes) == 64) {
    const auto bits = bit_cast<__m512i>(lanes);
    return _mm512_test_epi64_mask(bits, bits) != 0;
  }
#endif
#if defined(__AVX__)
  if constexpr (sizeof(lanes) == 32) {
    const auto bits = bit_cast<__m256i>(lanes);
    return _mm256_testz_si256(bits, bits) == 0;
  }
#endif
#if defined(__aarch64__)
  if constexpr (sizeof(lanes) == 16) return vmaxvq_u32(bit_cast<uint32x4_t>(lanes)) != 0;
#endif
  auto found = lanes[0];
  for (std::size_t k = 1; k < sizeof(lanes) / sizeof(found); ++k) found |= lanes[k];
  return found != 0;
}

#if defined(__AVX2__)
/// All bits of the first `count` lanes of 32 bytes.
template <class Real, class Isa>
PYSIM_INLINE __m256i first_lanes(int count) {
  if constexpr (sizeof(Real) == 8) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  } else {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
}
#endif

/// Lane k from p[k] for k < count, zero for the others; memory after them is not read.
template <class Real, int W, class Isa>
PYSIM_INLINE LanesIn<Real, W> load_lanes_before(const Real* p, int count) {
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
#if defined(__AVX512F__)
  if constexpr (bytes == 64 && is_double) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), p);
  } else if constexpr (bytes == 64) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
  }
#endif
#if defined(__AVX2__)
  if constexpr (bytes == 32 && is_double) {
    return _mm256_maskload_pd(p, first_lanes<Real, Isa>(count));
  } else if constexpr (bytes == 32) {
    return _mm256_maskload_ps(p, first_lanes<Real, Isa>(count));
  }
#endif
  if constexpr (W == 1) {
    return count > 0 ? *p : Real(0);
  } else {
    LanesIn<Real, W> a = {};
    for (int k = 0; k < count; ++k) a[k] = p[k];
    return a;
  }
}

/// Lane k to p[k] for k < count, which is less than the number of lanes; memory after them is not written.
template <class Real, int W, class Isa>
PYSIM_INLINE void store_lanes_before(LanesIn<Real, W> a, Real* p, int count) {
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
#if defined(__AVX512F__)
  if constexpr (bytes == 64 && is_double) {
    return _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << count) - 1), a);
  } else if constexpr (bytes == 64) {
    return _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), a);
  }
#endif
#if defined(__AVX2__)  // by halves: masked stores of 32 bytes cost some processors tens of cycles
  if constexpr (bytes == 32 && is_double) {
    __m128d half = _mm256_castpd256_pd128(a);
    if (count >= 2) {
      _mm_storeu_pd(p, half);
      half = _mm256_extractf128_pd(a, 1);
      p += 2;
    }
    if (count % 2 == 1) _mm_store_sd(p, half);
    return;
  } else if constexpr (bytes == 32) {
    __m128 half = _mm256_castps256_ps128(a);
    if (count >= 4) {
      _mm_storeu_ps(p, half);
      half = _mm256_extractf128_ps(a, 1);
      p += 4;
    }
    if (count % 4 >= 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), half);
      half = _mm_movehl_ps(half, half);
      p += 2;
    }
    if (count % 2 == 1) _mm_store_ss(p, half);
    return;
  }
#endif
  if constexpr (W > 1) {
    for (int k = 0; k < count; ++k) p[k] = a[k];
  }
}

/// Lane k from table[stride · index_k].
template <class Real, int W, class Isa>
PYSIM_INLINE LanesIn<Real, W> gather_lanes(const Real* table, LanesIn<Real, W> index, int stride) {
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
  if constexpr (W == 1) {
    return table[stride * static_cast<int>(index)];
  }
#if defined(__AVX512DQ__)
  else if constexpr (bytes == 64 && is_double) {
    const auto at = _mm512_mullo_epi64(_mm512_maskz_cvttpd_epi64(0xff, index), _mm512_set1_epi64(stride));
    return _mm512_mask_i64gather_pd(_mm512_setzero_pd(), 0xff, at, table, 8);
  } else if constexpr (bytes == 64) {
    const auto at = _mm512_mullo_epi32(_mm512_maskz_cvttps_epi32(0xffff, index), _mm512_set1_epi32(stride));
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, at, table, 4);
  }
#endif
#if defined(__AVX2__)
  else if constexpr (bytes == 32 && is_double) {
    const auto at = _mm_mullo_epi32(_mm256_cvttpd_epi32(index), _mm_set1_epi32(stride));
    const auto every = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
    return _mm256_mask_i32gather_pd(_mm256_setzero_pd(), table, at, every, 8);
  } else if constexpr (bytes == 32) {
    const auto at = _mm256_mullo_epi32(_mm256_cvttps_epi32(index), _mm256_set1_epi32(stride));
    const auto every = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), table, at, every, 4);
  }
#endif
  else {
    for (int k = 0; k < W; ++k) index[k] = table[stride * static_cast<int>(index[k])];
    return index;
  }
}

/// Control of this thread's floating-point arithmetic: rounding, traps, and subnormal numbers that count as
/// zero.
struct FloatControl {
#if defined(__x86_64__)
  using Bits = unsigned;
  static constexpr Bits every = 0xffc0u;  ///< the other bits are flags of past exceptions
  static constexpr Bits usual = 0x1f80u;
  static constexpr Bits flush = 0x8040u;  ///< FTZ and DAZ
  static PYSIM_INLINE Bits read() { return _mm_getcsr(); }
  static PYSIM_INLINE void write(Bits bits) { _mm_setcsr(bits); }
#elif defined(__aarch64__)
  using Bits = unsigned long long;
  static constexpr Bits every = 0x7ff9f00ull;  ///< rounding, flushing, default NaN, traps
  static constexpr Bits usual = 0;
  static constexpr Bits flush = 1ull << 24;  ///< FZ
  static PYSIM_INLINE Bits read() {
    Bits bits;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
    return bits;
  }
  static PYSIM_INLINE void write(Bits bits) { __asm__ volatile("msr fpcr, %0" : : "r"(bits)); }
#else  // is left to the caller
  using Bits = unsigned;
  static constexpr Bits every = 0, usual = 0, flush = 0;
  static Bits read() { return 0; }
  static void write(Bits) {}
#endif
};

}  // namespace pysim::simd
