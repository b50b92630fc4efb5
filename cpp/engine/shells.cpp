// Disjoint sets of vertices, with paths halved during each search [Tarjan and van Leeuwen 1984].
#include "engine/shells.hpp"

#include <numeric>
#include <vector>

namespace pysim::engine {

std::ptrdiff_t label_shells(const std::ptrdiff_t* faces,
                            std::ptrdiff_t count,
                            std::ptrdiff_t vertices,
                            std::ptrdiff_t* shells) {
  std::vector<std::ptrdiff_t> parent(static_cast<std::size_t>(vertices));
  std::iota(parent.begin(), parent.end(), std::ptrdiff_t(0));
  std::ptrdiff_t* const up = parent.data();
  const auto root = [up](std::ptrdiff_t k) {
    while (up[k] != k) k = up[k] = up[up[k]];
    return k;
  };
  for (std::ptrdiff_t f = 0; f < count; ++f) {
    const std::ptrdiff_t* corner = faces + 3 * f;
    std::ptrdiff_t a = root(corner[0]);
    for (int k = 1; k < 3; ++k) {
      const std::ptrdiff_t b = root(corner[k]);
      if (a < b) {
        up[b] = a;
      } else {
        up[a] = b;
        a = b;
      }
    }
  }
  std::vector<std::ptrdiff_t> number(static_cast<std::size_t>(vertices), -1);
  std::ptrdiff_t found = 0;
  for (std::ptrdiff_t f = 0; f < count; ++f) {
    std::ptrdiff_t& own = number[static_cast<std::size_t>(root(faces[3 * f]))];
    if (own < 0) own = found++;
    shells[f] = own;
  }
  return found;
}

}  // namespace pysim::engine
