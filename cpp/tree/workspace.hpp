// Scratch memory of one pack of worlds, carved from one block that is allocated once.
#pragma once

#include <cstddef>

#include "simd/pack.hpp"

namespace pysim::tree {

/// A block of packs; `take` hands out consecutive arrays of it. Nothing is freed, the block is reused.
template <class S>
struct Workspace {
  S* next;
};

/// An uninitialised array of trivially constructible T: packs, or what is rounded up to whole packs.
template <class T, class S>
PYSIM_INLINE T* take(Workspace<S>& w, std::ptrdiff_t count) {
  constexpr auto pack = static_cast<std::ptrdiff_t>(sizeof(S));
  T* const array = reinterpret_cast<T*>(w.next);
  if constexpr (sizeof(T) % sizeof(S) == 0) {
    w.next += count * static_cast<std::ptrdiff_t>(sizeof(T) / sizeof(S));
  } else {
    w.next += (count * static_cast<std::ptrdiff_t>(sizeof(T)) + pack - 1) / pack;
  }
  return array;
}

}  // namespace pysim::tree
