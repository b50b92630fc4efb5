// Arrays of a workspace that may need more alignment than its packs: of pointers, beside single floats.
#pragma once

#include <cstdint>

#include "tree/workspace.hpp"

namespace pysim::tree {

/// As take.
template <class T, class S>
PYSIM_INLINE T* take_aligned(Workspace<S>& w, std::ptrdiff_t count) {
  if constexpr (alignof(T) <= sizeof(S)) {
    return take<T>(w, count);
  } else {
    static_assert(sizeof(T) % sizeof(S) == 0 && alignof(T) % sizeof(S) == 0, "T is made of whole packs");
    constexpr auto packs = static_cast<std::ptrdiff_t>(sizeof(T) / sizeof(S));
    constexpr auto spare = static_cast<std::ptrdiff_t>(alignof(T) / sizeof(S));
    S* const array = take<S>(w, count * packs + spare - 1);
    const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(array) % alignof(T);
    return reinterpret_cast<T*>(past == 0 ? array : array + (alignof(T) - past) / sizeof(S));
  }
}

}  // namespace pysim::tree
