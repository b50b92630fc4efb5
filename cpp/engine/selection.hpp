// Selection of worlds for a call.
#pragma once

#include <cstddef>

namespace pysim::engine {

/// Numbers of some worlds, or all of them.
struct Selection {
  const int* index;  ///< null for 0 … count − 1
  std::ptrdiff_t count;

  std::ptrdiff_t operator[](std::ptrdiff_t k) const { return index == nullptr ? k : index[k]; }
};

/// Calls f(state, world) for the worlds of a selection.
template <class F>
void each(Selection worlds, const F& f) {
  for (std::ptrdiff_t k = 0; k < worlds.count; ++k) f(k, worlds[k]);
}

}  // namespace pysim::engine
