// W simulations side by side in one number type.
//
// Everything above this folder is written once, over a type S that behaves like a number; the lanes of S are
// independent worlds. Intrinsics live in this folder alone, and only where the vector extensions of GCC and
// Clang have no operator: fma, sqrt, gather.
#pragma once

#include <cstddef>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define PYSIM_INLINE inline __attribute__((always_inline))

namespace pysim::simd {

template <class Real, int W>
struct LanesOf {
  typedef Real type __attribute__((vector_size(W * sizeof(Real))));
};

template <class Real>
struct LanesOf<Real, 1> {
  using type = Real;
};

/// The integer as wide as a number, for its bits.
template <std::size_t bytes>
struct IntegerOf {
  using type = long long;
};

template <>
struct IntegerOf<4> {
  using type = int;
};

/// W simulations side by side: lane k of every Pack belongs to world k.
///
/// Isa is a tag. It makes this type, and so every template instantiated on it, distinct for
/// each instruction set; the linker can then never hand an AVX2 body to a baseline caller.
/// A single world is Pack<double, 1, Isa>, never plain double, for the same reason.
template <class RealType, int W, class IsaTag>
struct Pack {
  using Real = RealType;
  using Isa = IsaTag;
  using Lanes = typename LanesOf<Real, W>::type;
  static constexpr int width = W;

  /// The bits of the lanes as integers.
  using Integer = typename IntegerOf<sizeof(Real)>::type;
  using Bits = typename LanesOf<Integer, W>::type;

  /// One truth value a lane: bool for a single world, an integer vector for a pack.
  using Mask = decltype(Lanes{} < Lanes{});

  Lanes lanes;

  PYSIM_INLINE friend Pack operator-(Pack a) { return {-a.lanes}; }
  PYSIM_INLINE friend Pack operator+(Pack a, Pack b) { return {a.lanes + b.lanes}; }
  PYSIM_INLINE friend Pack operator-(Pack a, Pack b) { return {a.lanes - b.lanes}; }
  PYSIM_INLINE friend Pack operator*(Pack a, Pack b) { return {a.lanes * b.lanes}; }
  PYSIM_INLINE friend Pack operator/(Pack a, Pack b) { return {a.lanes / b.lanes}; }
  PYSIM_INLINE friend Mask operator<(Pack a, Pack b) { return a.lanes < b.lanes; }
  PYSIM_INLINE friend Mask operator>(Pack a, Pack b) { return a.lanes > b.lanes; }
  PYSIM_INLINE friend Mask operator<=(Pack a, Pack b) { return a.lanes <= b.lanes; }
  PYSIM_INLINE friend Mask operator>=(Pack a, Pack b) { return a.lanes >= b.lanes; }
  PYSIM_INLINE friend Mask operator==(Pack a, Pack b) { return a.lanes == b.lanes; }
  PYSIM_INLINE Pack& operator+=(Pack b) { return *this = *this + b; }
  PYSIM_INLINE Pack& operator-=(Pack b) { return *this = *this - b; }
  PYSIM_INLINE Pack& operator*=(Pack b) { return *this = *this * b; }
};

/// The same number in every lane.
template <class S>
PYSIM_INLINE S all(typename S::Real x) {
  if constexpr (S::width == 1) {
    return S{x};
  } else {
    return S{x - typename S::Lanes{}};
  }
}

/// a where the mask holds, b elsewhere; both are evaluated.
template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> select(typename Pack<Real, W, Isa>::Mask mask,
                                       Pack<Real, W, Isa> a,
                                       Pack<Real, W, Isa> b) {
  return {mask ? a.lanes : b.lanes};
}

/// True if the mask holds in any lane.
template <class S>
PYSIM_INLINE bool any(typename S::Mask mask) {
  if constexpr (S::width == 1) {
    return mask;
  } else {
#if defined(__AVX512F__)
    if constexpr (sizeof(mask) == 64) {
      const auto bits = __builtin_bit_cast(__m512i, mask);
      return _mm512_test_epi64_mask(bits, bits) != 0;
    }
#endif
#if defined(__AVX__)
    if constexpr (sizeof(mask) == 32) {
      const auto bits = __builtin_bit_cast(__m256i, mask);
      return _mm256_testz_si256(bits, bits) == 0;
    }
#endif
    auto found = mask[0];
    for (int k = 1; k < S::width; ++k) found |= mask[k];
    return found != 0;
  }
}

template <class S>
PYSIM_INLINE typename S::Real lane(const S& a, int k) {
  if constexpr (S::width == 1) {
    return a.lanes;
  } else {
    return a.lanes[k];
  }
}

template <class S>
PYSIM_INLINE void set_lane(S& a, int k, typename S::Real x) {
  if constexpr (S::width == 1) {
    a.lanes = x;
  } else {
    a.lanes[k] = x;
  }
}

/// a·b + c with one rounding where the processor has it; a·b + c on the baseline.
///
/// Written out by hand wherever products are summed: contraction is off, so that AVX2 and AVX-512 give the
/// same bits. A loop of __builtin_fma over the lanes falls to scalar code inside a large kernel.
template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> fma(Pack<Real, W, Isa> a, Pack<Real, W, Isa> b, Pack<Real, W, Isa> c) {
#if defined(__FMA__)
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
  if constexpr (W == 1) {
    if constexpr (is_double) {
      return {__builtin_fma(a.lanes, b.lanes, c.lanes)};
    } else {
      return {__builtin_fmaf(a.lanes, b.lanes, c.lanes)};
    }
  }
#if defined(__AVX512F__)
  else if constexpr (bytes == 64 && is_double) {
    return {_mm512_fmadd_pd(a.lanes, b.lanes, c.lanes)};
  } else if constexpr (bytes == 64) {
    return {_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes)};
  }
#endif
  else if constexpr (bytes == 32 && is_double) {
    return {_mm256_fmadd_pd(a.lanes, b.lanes, c.lanes)};
  } else if constexpr (bytes == 32) {
    return {_mm256_fmadd_ps(a.lanes, b.lanes, c.lanes)};
  } else if constexpr (is_double) {
    return {_mm_fmadd_pd(a.lanes, b.lanes, c.lanes)};
  } else {
    return {_mm_fmadd_ps(a.lanes, b.lanes, c.lanes)};
  }
#else
  return a * b + c;
#endif
}

/// c − a·b.
template <class S>
PYSIM_INLINE S fnma(S a, S b, S c) {
  return fma(-a, b, c);
}

/// a·b − c.
template <class S>
PYSIM_INLINE S fms(S a, S b, S c) {
  return fma(a, b, -c);
}

template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> sqrt(Pack<Real, W, Isa> a) {
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
  if constexpr (W == 1) {
    if constexpr (is_double) {
      return {__builtin_sqrt(a.lanes)};
    } else {
      return {__builtin_sqrtf(a.lanes)};
    }
  }
#if defined(__AVX512F__)
  else if constexpr (bytes == 64 && is_double) {
    return {_mm512_maskz_sqrt_pd(0xff, a.lanes)};
  } else if constexpr (bytes == 64) {
    return {_mm512_maskz_sqrt_ps(0xffff, a.lanes)};
  }
#endif
#if defined(__AVX__)
  else if constexpr (bytes == 32 && is_double) {
    return {_mm256_sqrt_pd(a.lanes)};
  } else if constexpr (bytes == 32) {
    return {_mm256_sqrt_ps(a.lanes)};
  }
#endif
#if defined(__SSE2__)
  else if constexpr (bytes == 16 && is_double) {
    return {_mm_sqrt_pd(a.lanes)};
  } else if constexpr (bytes == 16) {
    return {_mm_sqrt_ps(a.lanes)};
  }
#endif
  else {
    Pack<Real, W, Isa> root = a;
    for (int k = 0; k < W; ++k) root.lanes[k] = Real(__builtin_sqrt(double(a.lanes[k])));
    return root;
  }
}

template <class S>
PYSIM_INLINE S abs(S a) {
  return select(a < all<S>(0), -a, a);
}

template <class S>
PYSIM_INLINE S min(S a, S b) {
  return select(a < b, a, b);
}

template <class S>
PYSIM_INLINE S max(S a, S b) {
  return select(a > b, a, b);
}

/// Lane k from p[k·stride]: one number of W worlds, from rows that belong to one world each.
template <class S>
PYSIM_INLINE S gather(const typename S::Real* p, std::ptrdiff_t stride) {
  if constexpr (S::width == 1) {
    return S{*p};
  } else {
    S a;
    for (int k = 0; k < S::width; ++k) a.lanes[k] = p[k * stride];
    return a;
  }
}

/// Lane k from table[stride · index_k]; the indices are small whole numbers.
template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> lookup(const Real* table, Pack<Real, W, Isa> index, int stride) {
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
  if constexpr (W == 1) {
    return {table[stride * static_cast<int>(index.lanes)]};
  }
#if defined(__AVX512DQ__)
  else if constexpr (bytes == 64 && is_double) {
    const auto at =
        _mm512_mullo_epi64(_mm512_maskz_cvttpd_epi64(0xff, index.lanes), _mm512_set1_epi64(stride));
    return {_mm512_mask_i64gather_pd(_mm512_setzero_pd(), 0xff, at, table, 8)};
  } else if constexpr (bytes == 64) {
    const auto at =
        _mm512_mullo_epi32(_mm512_maskz_cvttps_epi32(0xffff, index.lanes), _mm512_set1_epi32(stride));
    return {_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, at, table, 4)};
  }
#endif
#if defined(__AVX2__)
  else if constexpr (bytes == 32 && is_double) {
    const auto at = _mm_mullo_epi32(_mm256_cvttpd_epi32(index.lanes), _mm_set1_epi32(stride));
    const auto every = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
    return {_mm256_mask_i32gather_pd(_mm256_setzero_pd(), table, at, every, 8)};
  } else if constexpr (bytes == 32) {
    const auto at = _mm256_mullo_epi32(_mm256_cvttps_epi32(index.lanes), _mm256_set1_epi32(stride));
    const auto every = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    return {_mm256_mask_i32gather_ps(_mm256_setzero_ps(), table, at, every, 4)};
  }
#endif
  else {
    Pack<Real, W, Isa> value = index;
    for (int k = 0; k < W; ++k) value.lanes[k] = table[stride * static_cast<int>(index.lanes[k])];
    return value;
  }
}

/// Lane k from p[k].
template <class S>
PYSIM_INLINE S load(const typename S::Real* p) {
  S a;
  __builtin_memcpy(&a.lanes, p, sizeof(a.lanes));
  return a;
}

/// Lane k from p[k] for k < count, zero in the others, behind whose numbers p may end.
template <class S>
PYSIM_INLINE S load_first(const typename S::Real* p, int count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(S) == 64 && sizeof(typename S::Real) == 8) {
    return {_mm512_maskz_loadu_pd(static_cast<__mmask8>((1 << count) - 1), p)};
  } else if constexpr (sizeof(S) == 64) {
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1 << count) - 1), p)};
  }
#endif
  S a = all<S>(0);
  for (int k = 0; k < count; ++k) set_lane(a, k, p[k]);
  return a;
}

/// Lane k to p[k].
template <class S>
PYSIM_INLINE void store(const S& a, typename S::Real* p) {
  __builtin_memcpy(p, &a.lanes, sizeof(a.lanes));
}

/// Lane k to p[k·stride].
template <class S>
PYSIM_INLINE void scatter(S a, typename S::Real* p, std::ptrdiff_t stride) {
  if constexpr (S::width == 1) {
    *p = a.lanes;
  } else {
    for (int k = 0; k < S::width; ++k) p[k * stride] = a.lanes[k];
  }
}

}  // namespace pysim::simd
