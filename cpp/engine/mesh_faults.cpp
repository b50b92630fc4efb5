// Faults of a list of triangles: edges compared by hashes, repeated faces found in a hash table.
#include "engine/mesh_faults.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace pysim::engine {

namespace {

using Face = std::array<std::ptrdiff_t, 3>;

/// The finaliser of SplitMix64 [Steele, Lea and Flood 2014]: each bit of x affects each bit of the
/// result.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t hash(std::ptrdiff_t a, std::ptrdiff_t b) {
  return mix(mix(std::uint64_t(a) + 0x9e3779b97f4a7c15U) + std::uint64_t(b));
}

/// +h if the edge is traversed upwards, −h if it is traversed downwards.
std::uint64_t edge_term(std::ptrdiff_t a, std::ptrdiff_t b) {
  return a < b ? hash(a, b) : std::uint64_t(0) - hash(b, a);
}

/// The same face, starting at its least vertex.
Face from_least(const std::ptrdiff_t* f) {
  if (f[0] <= f[1] && f[0] <= f[2]) return {f[0], f[1], f[2]};
  if (f[1] <= f[2]) return {f[1], f[2], f[0]};
  return {f[2], f[0], f[1]};
}

/// Faces by their vertices: a table with open addressing, at most half full.
class FaceSet {
 public:
  FaceSet(const std::ptrdiff_t* faces, std::ptrdiff_t count) : faces_(faces) {
    std::size_t size = 16;
    while (size < 2 * std::size_t(count)) size *= 2;
    slots_.assign(size, -1);
  }

  /// Inserts a face; false if one with the same vertices in the same order is present.
  bool insert(std::ptrdiff_t face) {
    const Face f = from_least(faces_ + 3 * face);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(f[0], f[1]) + mix(std::uint64_t(f[2]));; ++at) {
      std::ptrdiff_t& slot = slots_[at & mask];
      if (slot < 0) {
        slot = face;
        return true;
      }
      if (from_least(faces_ + 3 * slot) == f) return false;
    }
  }

 private:
  const std::ptrdiff_t* faces_;
  std::vector<std::ptrdiff_t> slots_;
};

}  // namespace

SurfaceFaults inspect_surface(const std::ptrdiff_t* faces, std::ptrdiff_t count, std::ptrdiff_t vertices) {
  SurfaceFaults faults;
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const auto* f = faces + 3 * k;
    const auto [low, high] = std::minmax({f[0], f[1], f[2]});
    if (low < 0 || high >= vertices) faults.outside.note(k);
  }
  if (faults.outside.count > 0) return faults;

  std::uint64_t boundary = 0;
  FaceSet known(faces, count);
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const auto* f = faces + 3 * k;
    if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) {
      faults.pinched.note(k);  // its edges cancel
      continue;
    }
    boundary += edge_term(f[0], f[1]) + edge_term(f[1], f[2]) + edge_term(f[2], f[0]);
    if (!known.insert(k)) faults.repeated.note(k);
  }
  faults.closed = boundary == 0;
  return faults;
}

std::ptrdiff_t vertex_bounds(const double* vertices, std::ptrdiff_t count, double* low, double* high) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::fill(low, low + 3, infinity);
  std::fill(high, high + 3, -infinity);
  double zero = 0;  // inf·0 and nan·0 are nan
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    for (int axis = 0; axis < 3; ++axis) {
      const double x = vertices[3 * k + axis];
      low[axis] = std::min(low[axis], x);
      high[axis] = std::max(high[axis], x);
      zero += x * 0;
    }
  }
  if (zero == 0) return -1;
  std::ptrdiff_t i = 0;
  while (std::isfinite(vertices[i])) ++i;
  return i / 3;
}

}  // namespace pysim::engine
