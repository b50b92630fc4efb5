// Sums of multiples of rows of packs, whose columns stay in registers while the rows go by.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

/// to (count) += Σ share[k] row[k], of `rows` rows, for the next `count` columns.
template <int count, class S>
PYSIM_INLINE void add_rows_in_registers(const S* share, const S* const* row, int rows, int first, S* to) {
  S sum[count];
#pragma GCC unroll 8
  for (int c = 0; c < count; ++c) sum[c] = to[first + c];
  for (int k = 0; k < rows; ++k) {
    const S by = share[k];
    const S* const from = row[k] + first;
#pragma GCC unroll 8
    for (int c = 0; c < count; ++c) sum[c] = fma(by, from[c], sum[c]);
  }
#pragma GCC unroll 8
  for (int c = 0; c < count; ++c) to[first + c] = sum[c];
}

/// to (columns) += Σ share[k] row[k], of `rows` rows.
template <class S>
void add_rows(const S* share, const S* const* row, int rows, S* to, int columns) {
  constexpr int most = 8;
  int c = 0;
  for (; c + most <= columns; c += most) add_rows_in_registers<most>(share, row, rows, c, to);
  if ((columns & 4) != 0) add_rows_in_registers<4>(share, row, rows, c, to), c += 4;
  if ((columns & 2) != 0) add_rows_in_registers<2>(share, row, rows, c, to), c += 2;
  if ((columns & 1) != 0) add_rows_in_registers<1>(share, row, rows, c, to);
}

}  // namespace pysim::simd
