// Self-intersections of a surface of triangles.
#pragma once

#include <cstddef>

namespace pysim::engine {

/// Number of pairs of faces that cross, and the first pair in the order of the faces; −1 if there is none.
struct Crossings {
  std::ptrdiff_t count = 0, first = -1, second = -1;
};

/// Vertices (n, 3), finite; faces (count, 3) of indices below n.
///
/// Two faces cross if an edge of one passes through the other from one side to the other; through its rim,
/// if the edge passes through the neighbouring face as well. Faces that only touch do not cross: neighbours
/// at their common edge, faces in one plane, an edge that meets a corner; anything within the rounding of
/// the coordinates counts as touching.
Crossings find_crossings(const double* vertices, const std::ptrdiff_t* faces, std::ptrdiff_t count);

}  // namespace pysim::engine
