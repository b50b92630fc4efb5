// Packs from rows of W worlds: the way back of store_rows.
#pragma once

#include "simd/transpose.hpp"

namespace pysim::simd {

/// Lane k of packs 0 … count from the `count` numbers at rows + k·stride; count is at most W.
template <class S>
PYSIM_INLINE void load_block(const typename S::Real* rows, int count, std::ptrdiff_t stride, S* packs) {
  constexpr int W = S::width;
  S block[W];
#pragma GCC unroll 16
  for (int k = 0; k < W; ++k) {
    block[k] = count == W ? load<S>(rows + k * stride) : load_part<S>(rows + k * stride, count);
  }
  transpose(block);
#pragma GCC unroll 16
  for (int k = 0; k < W; ++k) {
    if (k < count) packs[k] = block[k];
  }
}

/// Lane k of packs[0 … count) from the `count` numbers at rows + k·stride.
template <class S>
void load_rows(const typename S::Real* rows, std::ptrdiff_t count, std::ptrdiff_t stride, S* packs) {
  constexpr int W = S::width;
  std::ptrdiff_t i = 0;
  for (; i + W <= count; i += W) load_block(rows + i, W, stride, packs + i);
  if (i < count) load_block(rows + i, static_cast<int>(count - i), stride, packs + i);
}

}  // namespace pysim::simd
