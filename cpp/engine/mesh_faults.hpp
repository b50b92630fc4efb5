// Faults of a list of triangles, found before it is integrated in two passes over the faces, without
// sorting.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pysim::engine {

/// Number of faces with a fault, and the first of them; −1 if there is none.
struct FaceFault {
  std::ptrdiff_t count = 0, first = -1;

  void note(std::ptrdiff_t face) {
    if (count++ == 0) first = face;
  }
};

struct SurfaceFaults {
  FaceFault outside;    ///< refers to a vertex that does not exist
  FaceFault pinched;    ///< refers to a vertex twice
  FaceFault repeated;   ///< the same three vertices, in the same order, as an earlier face
  bool closed = false;  ///< every edge is traversed equally often in both directions
};

/// Faces (count, 3) of indices below `vertices`. Edges are compared by the sum of their hashes, forth minus
/// back: an open surface passes as closed with probability 2⁻⁶⁴. If a face is outside, no other fault
/// is reported.
SurfaceFaults inspect_surface(const std::ptrdiff_t* faces, std::ptrdiff_t count, std::ptrdiff_t vertices);

/// Extent (3), (3) of vertices (count, 3); returns the first that is not finite, or −1.
std::ptrdiff_t vertex_bounds(const double* vertices, std::ptrdiff_t count, double* low, double* high);

}  // namespace pysim::engine
