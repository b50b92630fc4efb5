// Partial loads and stores: the first numbers of a pack; memory after them is neither read nor written.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

#if defined(__AVX2__)
/// All bits of the first `count` lanes of 32 bytes.
template <class S>
PYSIM_INLINE __m256i first_lanes(int count) {
  if constexpr (sizeof(typename S::Real) == 8) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  } else {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
}
#endif

/// Lane k from p[k] for k < count, zero for the others.
template <class S>
PYSIM_INLINE S load_part(const typename S::Real* p, int count) {
  [[maybe_unused]] constexpr std::size_t bytes = sizeof(S);
  [[maybe_unused]] constexpr bool is_double = sizeof(typename S::Real) == 8;
  if constexpr (in_two<S>) {
    constexpr int half = S::width / 2;
    if (count >= half) return join(load<HalfOf<S>>(p), load_part<HalfOf<S>>(p + half, count - half));
    return join(load_part<HalfOf<S>>(p, count), all<HalfOf<S>>(0));
  }
#if defined(__AVX512F__)
  if constexpr (bytes == 64 && is_double) {
    return {_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), p)};
  } else if constexpr (bytes == 64) {
    return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p)};
  }
#endif
#if defined(__AVX2__)
  if constexpr (bytes == 32 && is_double) {
    return {_mm256_maskload_pd(p, first_lanes<S>(count))};
  } else if constexpr (bytes == 32) {
    return {_mm256_maskload_ps(p, first_lanes<S>(count))};
  }
#endif
  S a = all<S>(0);
  for (int k = 0; k < count; ++k) set_lane(a, k, p[k]);
  return a;
}

/// Lane k to p[k] for k < count; count is less than the number of lanes.
template <class S>
PYSIM_INLINE void store_part(const S& a, typename S::Real* p, int count) {
  [[maybe_unused]] constexpr std::size_t bytes = sizeof(S);
  [[maybe_unused]] constexpr bool is_double = sizeof(typename S::Real) == 8;
  if constexpr (in_two<S>) {
    constexpr int half = S::width / 2;
    if (count < half) return store_part(low(a), p, count);
    store(low(a), p);
    if (count > half) store_part(high(a), p + half, count - half);
    return;
  }
#if defined(__AVX512F__)
  if constexpr (bytes == 64 && is_double) {
    return _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << count) - 1), a.lanes);
  } else if constexpr (bytes == 64) {
    return _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), a.lanes);
  }
#endif
#if defined(__AVX2__)  // by halves: masked stores of 32 bytes cost some processors tens of cycles
  if constexpr (bytes == 32 && is_double) {
    __m128d rest = _mm256_castpd256_pd128(a.lanes);
    if (count >= 2) {
      _mm_storeu_pd(p, rest);
      rest = _mm256_extractf128_pd(a.lanes, 1);
      p += 2;
    }
    if (count % 2 == 1) _mm_store_sd(p, rest);
    return;
  } else if constexpr (bytes == 32) {
    __m128 rest = _mm256_castps256_ps128(a.lanes);
    if (count >= 4) {
      _mm_storeu_ps(p, rest);
      rest = _mm256_extractf128_ps(a.lanes, 1);
      p += 4;
    }
    if (count % 4 >= 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
      rest = _mm_movehl_ps(rest, rest);
      p += 2;
    }
    if (count % 2 == 1) _mm_store_ss(p, rest);
    return;
  }
#endif
  for (int k = 0; k < count; ++k) p[k] = lane(a, k);
}

}  // namespace pysim::simd
