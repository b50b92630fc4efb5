// Table lookup: lane k reads the row of its own index.
//
//     row = max(min(index, rows − 1), 0)        NaN where the index is NaN
//
// No index reads memory outside of the table: those of a state that diverges are anything.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

/// The index within 0 … rows − 1 that is nearest; 0 for NaN.
template <class S>
PYSIM_INLINE S nearest_row(S index, int rows) {
  return max(min(index, all<S>(static_cast<typename S::Real>(rows - 1))), all<S>(0));
}

/// Lane k from table[stride · index_k]; the indices are whole numbers within the rows.
template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> read_rows(const Real* table, Pack<Real, W, Isa> index, int stride) {
  [[maybe_unused]] constexpr std::size_t bytes = W * sizeof(Real);
  [[maybe_unused]] constexpr bool is_double = sizeof(Real) == 8;
  if constexpr (in_two<Pack<Real, W, Isa>>) {
    return join(read_rows(table, low(index), stride), read_rows(table, high(index), stride));
  } else if constexpr (W == 1) {
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

/// The same from one table per world.
template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> read_rows(const Pack<Real, W, Isa>* table,
                                          Pack<Real, W, Isa> index,
                                          int stride) {
  Pack<Real, W, Isa> value = index;
  for (int k = 0; k < W; ++k) set_lane(value, k, lane(table[stride * static_cast<int>(lane(index, k))], k));
  return value;
}

/// Lane k from table[stride · index_k] of `rows` rows, one table or one per world.
template <class S, class Entry>
PYSIM_INLINE S lookup(const Entry* table, S index, int stride, int rows) {
  return select(index == index, read_rows(table, nearest_row(index, rows), stride), index);
}

}  // namespace pysim::simd
