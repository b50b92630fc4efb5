// Packs from rows of W worlds: the way back of store_rows.
#pragma once

#include "simd/transpose.hpp"

namespace pysim::simd {

/// Lane k of packs[0 … count) from the `count` numbers at rows + k·stride.
template <class S>
void load_rows(const typename S::Real* rows, std::ptrdiff_t count, std::ptrdiff_t stride, S* packs) {
  constexpr int W = S::width;
  std::ptrdiff_t i = 0;
  if constexpr (W > 1) {
    for (; i + W <= count; i += W) {
      S block[W];
#pragma GCC unroll 16
      for (int k = 0; k < W; ++k) __builtin_memcpy(&block[k].lanes, rows + k * stride + i, sizeof(S));
      transpose(block);
#pragma GCC unroll 16
      for (int k = 0; k < W; ++k) packs[i + k] = block[k];
    }
  }
  for (; i < count; ++i) packs[i] = gather<S>(rows + i, stride);
}

}  // namespace pysim::simd
