// Integrals over the triangles of a mesh and their derivatives w.r.t. its vertices; lanes are triangles here.
//
// Triangle k belongs to lane k mod 8 of a block at any pack width, so that the sums have the same
// bits on AVX2 and AVX-512. The last block is padded with triangles of zero area, which add nothing.
#pragma once

#include "engine/map_tables.hpp"
#include "simd/compensated_sum.hpp"
#include "spatial/thin_sheet.hpp"

namespace pysim::engine {

constexpr int mesh_block = 8;

/// The corners of a block of faces, coordinate by coordinate: at[3 corner + axis][lane].
struct Corners {
  alignas(64) double at[9][mesh_block];
};

/// At most a block of faces from `face` on; missing ones have all their corners at the origin.
PYSIM_INLINE void load_corners(const MeshView& mesh, std::ptrdiff_t face, Corners& corners) {
  const std::ptrdiff_t left = mesh.count - face;
  const int filled = left < mesh_block ? int(left) : mesh_block;
  for (int k = 0; k < filled; ++k) {
    const std::ptrdiff_t* index = mesh.faces + 3 * (face + k);
    for (int corner = 0; corner < 3; ++corner) {
      const double* p = mesh.vertices + 3 * index[corner];
      for (int axis = 0; axis < 3; ++axis) corners.at[3 * corner + axis][k] = p[axis];
    }
  }
  for (int k = filled; k < mesh_block; ++k) {
    for (int i = 0; i < 9; ++i) corners.at[i][k] = mesh.origin[i % 3];
  }
}

template <class S>
PYSIM_INLINE spatial::Triangle<S> triangle(const Corners& corners, int lane, const spatial::Vec3<S>& origin) {
  const auto corner = [&](int i) {
    return spatial::Vec3<S>{simd::load<S>(corners.at[i] + lane),
                            simd::load<S>(corners.at[i + 1] + lane),
                            simd::load<S>(corners.at[i + 2] + lane)} -
           origin;
  };
  return {corner(0), corner(3), corner(6)};
}

/// sums = [Σ w, Σ w s, Σ w Q (xx, yy, zz, xy, yz, zx)] about the origin of the view.
template <class Face, class S, class One>
void mesh_moments(const MeshView& mesh, double* sums) {
  constexpr int packs = mesh_block / S::width;
  simd::Sum<S> all_sums[10][packs];
  const auto origin = spatial::all3<S>(mesh.origin);
  Corners corners;
  for (std::ptrdiff_t face = 0; face < mesh.count; face += mesh_block) {
    load_corners(mesh, face, corners);
    for (int p = 0; p < packs; ++p) {
      const auto t = triangle<S>(corners, p * S::width, origin);
      const auto m = spatial::moments(t, Face::weight(t));
      const S terms[10] = {m.zeroth,
                           m.first.x,
                           m.first.y,
                           m.first.z,
                           m.second.xx,
                           m.second.yy,
                           m.second.zz,
                           m.second.xy,
                           m.second.yz,
                           m.second.zx};
      for (int i = 0; i < 10; ++i) all_sums[i][p].add(terms[i]);
    }
  }
  for (int i = 0; i < 10; ++i) sums[i] = simd::total<One>(all_sums[i], packs);
}

/// row += n ⊗ w, row (3, 10): ten numbers for each axis of the normal.
template <class S>
PYSIM_INLINE void add_outer(double* row, const double* n, const double* w) {
  using Two = simd::Pack<double, 2, typename S::Isa>;
  for (int axis = 0; axis < 3; ++axis, row += 10) {
    int i = 0;
    for (; i + S::width <= 10; i += S::width) {
      simd::store(simd::fma(simd::all<S>(n[axis]), simd::load<S>(w + i), simd::load<S>(row + i)), row + i);
    }
    for (; i < 10; i += 2) {
      simd::store(simd::fma(simd::all<Two>(n[axis]), simd::load<Two>(w + i), simd::load<Two>(row + i)),
                  row + i);
    }
  }
}

/// weights · (ten weights of each corner): one number a corner.
template <class S>
PYSIM_INLINE void weigh_corners(const spatial::Triangle<S>& t, const double* weights, S* shares) {
  const auto s = t.a + t.b + t.c;
  const auto Q = spatial::squares(t, s);
  const spatial::Vec3<S>* corner[3] = {&t.a, &t.b, &t.c};
  for (int slot = 0; slot < 3; ++slot) {
    S entries[10];
    spatial::vertex_weights(*corner[slot], s, Q, simd::all<S>(1), entries);
    shares[slot] = simd::all<S>(weights[0]) * entries[0];
    for (int i = 1; i < 10; ++i) shares[slot] = simd::fma(simd::all<S>(weights[i]), entries[i], shares[slot]);
  }
}

/// What a block of faces scatters: for each lane its normal, and ten weights for each slot.
struct Slots {
  alignas(64) double normal[mesh_block][3];
  alignas(64) double weights[3][mesh_block][10];
};

template <class S>
PYSIM_INLINE void weigh_slots(const spatial::Triangle<S>& t, S density, int lane, Slots& slots) {
  const auto n = spatial::normal(t);
  const auto s = t.a + t.b + t.c;
  const auto Q = spatial::squares(t, s);
  const spatial::Vec3<S>* corner[3] = {&t.a, &t.b, &t.c};
  const S axes[3] = {n.x, n.y, n.z};
  for (int axis = 0; axis < 3; ++axis) simd::scatter(axes[axis], &slots.normal[lane][axis], 3);
  for (int slot = 0; slot < 3; ++slot) {
    S weights[10];
    spatial::vertex_weights(*corner[slot], s, Q, density, weights);
    for (int i = 0; i < 10; ++i) simd::scatter(weights[i], &slots.weights[slot][lane][i], 10);
  }
}

/// rows (n, 3, 10) = ∂θ/∂v, θ about the origin of the view; rows must be zero beforehand.
template <class S>
void mesh_derivatives(const MeshView& mesh, double density, double* rows) {
  const auto origin = spatial::all3<S>(mesh.origin);
  Corners corners;
  Slots slots;
  for (std::ptrdiff_t face = 0; face < mesh.count; face += mesh_block) {
    load_corners(mesh, face, corners);
    for (int lane = 0; lane < mesh_block; lane += S::width) {
      weigh_slots(triangle<S>(corners, lane, origin), simd::all<S>(density), lane, slots);
    }
    for (int k = 0; k < mesh_block && face + k < mesh.count; ++k) {
      const std::ptrdiff_t* index = mesh.faces + 3 * (face + k);
      for (int slot = 0; slot < 3; ++slot) {
        add_outer<S>(rows + 30 * index[slot], slots.normal[k], slots.weights[slot][k]);
      }
    }
  }
}

/// rows (n, 3) = Σ weights ∂θ/∂v of ten weights: the product with `mesh_derivatives`, without storing its ten
/// numbers per entry.
template <class S>
void mesh_gradient(const MeshView& mesh, const double* weights, double* rows) {
  const auto origin = spatial::all3<S>(mesh.origin);
  Corners corners;
  alignas(64) double normal[3][mesh_block], share[3][mesh_block];
  for (std::ptrdiff_t face = 0; face < mesh.count; face += mesh_block) {
    load_corners(mesh, face, corners);
    for (int lane = 0; lane < mesh_block; lane += S::width) {
      const auto t = triangle<S>(corners, lane, origin);
      const auto n = spatial::normal(t);
      const S axes[3] = {n.x, n.y, n.z};
      for (int axis = 0; axis < 3; ++axis) simd::store(axes[axis], normal[axis] + lane);
      S shares[3];
      weigh_corners(t, weights, shares);
      for (int slot = 0; slot < 3; ++slot) simd::store(shares[slot], share[slot] + lane);
    }
    for (int k = 0; k < mesh_block && face + k < mesh.count; ++k) {
      const std::ptrdiff_t* index = mesh.faces + 3 * (face + k);
      for (int slot = 0; slot < 3; ++slot) {
        double* row = rows + 3 * index[slot];
        for (int axis = 0; axis < 3; ++axis) row[axis] += normal[axis][k] * share[slot][k];
      }
    }
  }
}

/// rows (n, 3, 10) = ∂θ/∂v of a sheet of some mass per area; rows must be zero beforehand.
template <class S>
void sheet_derivatives(const MeshView& mesh, double area_density, double* rows) {
  const auto origin = spatial::all3<S>(mesh.origin);
  Corners corners;
  alignas(64) double slots[mesh_block][3][30];
  for (std::ptrdiff_t face = 0; face < mesh.count; face += mesh_block) {
    load_corners(mesh, face, corners);
    for (int lane = 0; lane < mesh_block; lane += S::width) {
      const auto t = triangle<S>(corners, lane, origin);
      const auto sheet = spatial::sheet_triangle(t);
      const spatial::Vec3<S>* corner[5] = {&t.a, &t.b, &t.c, &t.a, &t.b};
      for (int slot = 0; slot < 3; ++slot) {
        S entries[30];
        spatial::sheet_corner(
            sheet, *corner[slot], *corner[slot + 1] - *corner[slot + 2], simd::all<S>(area_density), entries);
        for (int i = 0; i < 30; ++i) simd::scatter(entries[i], &slots[lane][slot][i], 90);
      }
    }
    for (int k = 0; k < mesh_block && face + k < mesh.count; ++k) {
      const std::ptrdiff_t* index = mesh.faces + 3 * (face + k);
      for (int slot = 0; slot < 3; ++slot) {
        double* row = rows + 30 * index[slot];
        for (int i = 0; i < 30; ++i) row[i] += slots[k][slot][i];
      }
    }
  }
}

template <class S, class One>
constexpr MeshKernels make_mesh_kernels() noexcept {
  return {&mesh_moments<spatial::SolidFace, S, One>,
          &mesh_moments<spatial::SheetFace, S, One>,
          &mesh_derivatives<S>,
          &sheet_derivatives<S>,
          &mesh_gradient<S>};
}

}  // namespace pysim::engine
