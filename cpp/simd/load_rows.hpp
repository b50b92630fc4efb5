// Loading of packs from rows of W worlds: the inverse of store_rows.
#pragma once

#include "simd/transpose.hpp"

namespace pysim::simd {

/// Lane k of packs 0 … count from the `count` numbers at row(k); count is at most W.
template <class S, class Row>
PYSIM_INLINE void load_block(Row row, int count, S* packs) {
  constexpr int W = S::width;
  S block[W];
#pragma GCC unroll 16
  for (int k = 0; k < W; ++k) block[k] = count == W ? load<S>(row(k)) : load_part<S>(row(k), count);
  transpose(block);
#pragma GCC unroll 16
  for (int k = 0; k < W; ++k) {
    if (k < count) packs[k] = block[k];
  }
}

/// Lane k of packs[0 … count) from the `count` numbers at row(k).
template <class S, class Row>
void load_lanes(Row row, std::ptrdiff_t count, S* packs) {
  constexpr int W = S::width;
  std::ptrdiff_t i = 0;
  const auto from_here = [&](int k) { return row(k) + i; };
  for (; i + W <= count; i += W) load_block(from_here, W, packs + i);
  if (i < count) load_block(from_here, static_cast<int>(count - i), packs + i);
}

/// Lane k from rows + k·stride.
template <class S>
void load_rows(const typename S::Real* rows, std::ptrdiff_t count, std::ptrdiff_t stride, S* packs) {
  load_lanes([=](int k) { return rows + k * stride; }, count, packs);
}

}  // namespace pysim::simd
