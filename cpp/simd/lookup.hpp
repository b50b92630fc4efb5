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
  if constexpr (in_two<Pack<Real, W, Isa>>) {
    return join(read_rows(table, low(index), stride), read_rows(table, high(index), stride));
  } else {
    return {gather_lanes<Real, W, Isa>(table, index.lanes, stride)};
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
