// Workspace: scratch memory of one pack of worlds, consecutive arrays in memory that the calling thread
// reserves once.
//
//     S* const tau = take<S>(w, model.nv);
//
// A workspace is a position in that memory and is copied freely: arrays that a function takes from its own
// copy are free again when it returns. Only addresses are reserved, more than any model takes, and memory
// never written is never allocated; access beyond it is a fault. So kernels check no bounds and no size has
// to be computed beforehand, as in WebAssembly engines [Haas 2017]. Builds without NDEBUG check the arrays
// of an operation, guarded by the bytes behind them, and the end of the memory.
#pragma once

#include <cstddef>

#include "simd/pack.hpp"

namespace pysim::tree {

/// Start of the calling thread's workspaces, aligned to a page.
void* workspace_memory();

#ifdef NDEBUG

constexpr std::ptrdiff_t guard_bytes = 0;
PYSIM_INLINE void guard_array(const void*, void*) {}

#else

constexpr std::ptrdiff_t guard_bytes = 64;

/// Guards the bytes from `end` on, and no longer those behind earlier arrays that reach beyond `array`: they
/// are free.
void guard_array(const void* array, void* end);

void begin_operation(const char* name);

/// Aborts with the operation's name where an array was overrun.
void end_operation();

#endif

/// The operation that the thread runs during this object's lifetime; `name` contains "Operation = …" or is
class RunningOperation {
 public:
#ifdef NDEBUG
  PYSIM_INLINE explicit RunningOperation(const char*) {}
#else
  PYSIM_INLINE explicit RunningOperation(const char* name) { begin_operation(name); }
  PYSIM_INLINE ~RunningOperation() { end_operation(); }
  RunningOperation(const RunningOperation&) = delete;
  RunningOperation& operator=(const RunningOperation&) = delete;
#endif
};

template <class S>
struct Workspace {
  S* next;
};

/// An uninitialised array of trivially constructible T: packs, or what is rounded up to whole packs.
template <class T, class S>
PYSIM_INLINE T* take(Workspace<S>& w, std::ptrdiff_t count) {
  static_assert(alignof(T) <= sizeof(S), "arrays begin at multiples of a pack");
  constexpr auto pack = static_cast<std::ptrdiff_t>(sizeof(S));
  T* const array = reinterpret_cast<T*>(w.next);
  if constexpr (sizeof(T) % sizeof(S) == 0) {
    w.next += count * static_cast<std::ptrdiff_t>(sizeof(T) / sizeof(S));
  } else {
    w.next += (count * static_cast<std::ptrdiff_t>(sizeof(T)) + pack - 1) / pack;
  }
  guard_array(array, w.next);
  w.next += (guard_bytes + pack - 1) / pack;
  return array;
}

}  // namespace pysim::tree
