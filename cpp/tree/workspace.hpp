// Scratch memory of one pack of worlds, carved from one block that is allocated once.
#pragma once

#include <cstddef>

#include "simd/pack.hpp"

namespace pysim::tree {

/// Hands out consecutive arrays of trivially constructible pack types; nothing is freed, the block is reused.
template <class S>
struct Workspace {
  S* next;

  template <class T>
  PYSIM_INLINE T* take(std::ptrdiff_t count) {
    static_assert(sizeof(T) % sizeof(S) == 0, "a workspace holds packs");
    T* const array = reinterpret_cast<T*>(next);
    next += count * static_cast<std::ptrdiff_t>(sizeof(T) / sizeof(S));
    return array;
  }

  /// Indices that do not differ between worlds.
  PYSIM_INLINE int* take_indices(std::ptrdiff_t count) {
    constexpr auto each = static_cast<std::ptrdiff_t>(sizeof(S) / sizeof(int));
    return reinterpret_cast<int*>(take<S>((count + each - 1) / each));
  }
};

}  // namespace pysim::tree
