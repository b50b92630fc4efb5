// What a list of triangles is before it is integrated: found in two passes over the faces, without sorting
// them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pysim::engine {

/// How many faces are like this, and the first of them; −1 where there is none.
struct FaceFault {
  std::ptrdiff_t count = 0, first = -1;

  void note(std::ptrdiff_t face) {
    if (count++ == 0) first = face;
  }
};

struct SurfaceFaults {
  FaceFault outside;    ///< names a vertex that is not there
  FaceFault pinched;    ///< names a vertex twice
  FaceFault repeated;   ///< the same three vertices, walked the same way, as an earlier face
  bool closed = false;  ///< every edge is walked as often forth as back
};

/// Faces (count, 3) of indices below `vertices`. Edges are compared by the sum of their hashes, forth minus
/// back: an open surface is taken for a closed one with probability 2⁻⁶⁴. With a face outside, nothing else
/// is told.
SurfaceFaults inspect_surface(const std::ptrdiff_t* faces, std::ptrdiff_t count, std::ptrdiff_t vertices);

/// Extent (3), (3) of vertices (count, 3); returns the first that is not finite, or −1.
std::ptrdiff_t vertex_bounds(const double* vertices, std::ptrdiff_t count, double* low, double* high);

}  // namespace pysim::engine
