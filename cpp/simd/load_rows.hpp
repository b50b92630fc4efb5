// Packs from rows of W worlds: the way back of store_rows.
#pragma once

#include "simd/transpose.hpp"

namespace pysim::simd {

/// Lane k of packs[0 … count) from the `count` numbers at row(k).
template <class S, class Row>
void load_lanes(Row row, std::ptrdiff_t count, S* packs) {
  constexpr int W = S::width;
  std::ptrdiff_t i = 0;
  if constexpr (W > 1) {
    for (; i + W <= count; i += W) {
      S block[W];
#pragma GCC unroll 16
      for (int k = 0; k < W; ++k) __builtin_memcpy(&block[k].lanes, row(k) + i, sizeof(S));
      transpose(block);
#pragma GCC unroll 16
      for (int k = 0; k < W; ++k) packs[i + k] = block[k];
    }
  }
  for (; i < count; ++i) {
    for (int k = 0; k < W; ++k) set_lane(packs[i], k, row(k)[i]);
  }
}

/// Lane k from rows + k·stride.
template <class S>
void load_rows(const typename S::Real* rows, std::ptrdiff_t count, std::ptrdiff_t stride, S* packs) {
  load_lanes([=](int k) { return rows + k * stride; }, count, packs);
}

}  // namespace pysim::simd
