// Where a surface of triangles goes through itself.
#pragma once

#include <cstddef>

namespace pysim::engine {

/// How many pairs of faces cross, and the first of them in the order of the faces; −1 where there is none.
struct Crossings {
  std::ptrdiff_t count = 0, first = -1, second = -1;
};

/// Vertices (n, 3), finite; faces (count, 3) of indices below n.
///
/// Two faces cross if an edge of one passes from one side of the other to its other side through it; through
/// its rim if it does so through the neighbour behind the rim too. Faces that only touch do not, as
/// neighbours do in their common edge, nor do faces in one plane, nor where an edge meets a corner; what is
/// within the rounding of the coordinates is a touch.
Crossings find_crossings(const double* vertices, const std::ptrdiff_t* faces, std::ptrdiff_t count);

}  // namespace pysim::engine
