// Shells: connected components of a surface of triangles.
#pragma once

#include <cstddef>

namespace pysim::engine {

/// Numbers the shells of faces (count, 3) of indices below `vertices` from 0, in the order of their first
/// faces; faces that share a vertex belong to the same shell. Writes the shell of each face and returns their
/// number.
std::ptrdiff_t label_shells(const std::ptrdiff_t* faces,
                            std::ptrdiff_t count,
                            std::ptrdiff_t vertices,
                            std::ptrdiff_t* shells);

}  // namespace pysim::engine
