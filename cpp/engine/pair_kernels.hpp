// Functions of two rows of numbers, row by row: displacements acting on spatial vectors, sums of inertias,
// and inertias acting on twists.
//
// Displacements are records of 12 numbers, rotation column-major, then position; inertias are the engine's
// [m, mc, Ixx, Iyy, Izz, Ixy, Iyz, Izx]. A single row is used for all rows: its stride is 0. The result may
// be an argument. To add a map, write one struct and one line of the table.
#pragma once

#include "engine/map_tables.hpp"
#include "engine/row_vectors.hpp"
#include "spatial/inertia.hpp"
#include "spatial/inertia_square_root.hpp"

namespace pysim::engine {

template <int numbers_a, int numbers_b, int numbers_out>
struct PairColumns {
  static constexpr int first = numbers_a, second = numbers_b, out = numbers_out;
};

template <class S>
PYSIM_INLINE spatial::Mat3<S> columns_of(const S* x) {
  return {vec3_of(x), vec3_of(x + 3), vec3_of(x + 6)};
}

template <class S>
PYSIM_INLINE spatial::Pose<S> pose_of(const S* x) {
  return {columns_of(x), vec3_of(x + 9)};
}

template <class S>
PYSIM_INLINE spatial::Force<S> wrench_of(const S* x) {
  return {vec3_of(x), vec3_of(x + 3)};
}

template <class S>
PYSIM_INLINE spatial::Inertia<S> inertia_of(const S* x) {
  return {x[0], vec3_of(x + 1), {x[4], x[5], x[6], x[7], x[8], x[9]}};
}

template <class S>
PYSIM_INLINE void put(const spatial::Force<S>& F, S* y) {
  put(F.f, y), put(F.t, y + 3);
}

template <class S>
PYSIM_INLINE void put(const spatial::Inertia<S>& M, S* y) {
  y[0] = M.m;
  put(M.mc, y + 1);
  y[4] = M.I.xx, y[5] = M.I.yy, y[6] = M.I.zz, y[7] = M.I.xy, y[8] = M.I.yz, y[9] = M.I.zx;
}

/// Ad(X) V: 24 multiplications and 18 additions, as is every map of a twist or a wrench but ad.
struct ActOnTwist : PairColumns<12, 6, 6> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(spatial::to_parent(pose_of(a), twist_of(b)), y);
  }
};

struct ActOnWrench : PairColumns<12, 6, 6> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(spatial::to_parent(pose_of(a), wrench_of(b)), y);
  }
};

struct TwistCrossTwist : PairColumns<6, 6, 6> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(spatial::cross(twist_of(a), twist_of(b)), y);
  }
};

struct TwistCrossWrench : PairColumns<6, 6, 6> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(spatial::cross(twist_of(a), wrench_of(b)), y);
  }
};

struct TwistDotWrench : PairColumns<6, 6, 1> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    *y = spatial::dot(twist_of(a), wrench_of(b));
  }
};

struct InertiaRotate : PairColumns<10, 9, 10> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(spatial::rotate(columns_of(b), inertia_of(a)), y);
  }
};

struct InertiaTranslate : PairColumns<10, 3, 10> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(spatial::translate(vec3_of(b), inertia_of(a)), y);
  }
};

struct InertiaTransform : PairColumns<10, 12, 10> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(spatial::to_parent(pose_of(b), inertia_of(a)), y);
  }
};

struct InertiaTimesTwist : PairColumns<10, 6, 6> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    put(inertia_of(a) * twist_of(b), y);
  }
};

struct InertiaKineticEnergy : PairColumns<10, 6, 1> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    const auto V = twist_of(b);
    *y = simd::all<S>(typename S::Real(0.5)) * spatial::dot(V, inertia_of(a) * V);
  }
};

/// Inertia and relative tolerance; [√m, c, L (by rows, xx yx yy zx zy zz), pivots, rank].
struct InertiaFactor : PairColumns<10, 1, 14> {
  template <class S>
  static void at(const S* a, const S* b, S* y) {
    const auto F = spatial::factor(inertia_of(a), *b);
    y[0] = F.root_m;
    put(F.c, y + 1);
    for (int i = 0; i < 6; ++i) y[4 + i] = F.L[i];
    for (int i = 0; i < 3; ++i) y[10 + i] = F.pivot[i];
    y[13] = F.rank;
  }
};

/// One pack of rows; everything is read before anything is written.
template <class Map, class S>
void map_pair(const typename S::Real* a,
              std::ptrdiff_t a_stride,
              const typename S::Real* b,
              std::ptrdiff_t b_stride,
              typename S::Real* y) {
  S first[Map::first], second[Map::second], out[Map::out];
  for (int i = 0; i < Map::first; ++i) first[i] = simd::gather<S>(a + i, a_stride);
  for (int i = 0; i < Map::second; ++i) second[i] = simd::gather<S>(b + i, b_stride);
  Map::at(first, second, out);
  for (int i = 0; i < Map::out; ++i) simd::scatter(out[i], y + i, Map::out);
}

/// Whole packs first, then the remaining rows one at a time by the same code.
template <class Map, class S, class Tail>
void map_pairs(const typename S::Real* a,
               std::ptrdiff_t a_stride,
               const typename S::Real* b,
               std::ptrdiff_t b_stride,
               typename S::Real* y,
               std::ptrdiff_t rows) {
  std::ptrdiff_t k = 0;
  for (; k + S::width <= rows; k += S::width) {
    map_pair<Map, S>(a + k * a_stride, a_stride, b + k * b_stride, b_stride, y + k * Map::out);
  }
  for (; k < rows; ++k) {
    map_pair<Map, Tail>(a + k * a_stride, a_stride, b + k * b_stride, b_stride, y + k * Map::out);
  }
}

template <class Map, class S, class Tail>
constexpr PairMap<typename S::Real> pair_map(const char* name) noexcept {
  return {name, Map::first, Map::second, Map::out, &map_pairs<Map, S, Tail>};
}

template <class S, class Tail>
constexpr PairKernels<typename S::Real> make_pair_kernels() noexcept {
  return {{
      pair_map<ActOnTwist, S, Tail>("act_on_twist"),
      pair_map<ActOnWrench, S, Tail>("act_on_wrench"),
      pair_map<TwistCrossTwist, S, Tail>("twist_cross_twist"),
      pair_map<TwistCrossWrench, S, Tail>("twist_cross_wrench"),
      pair_map<TwistDotWrench, S, Tail>("twist_dot_wrench"),
      pair_map<InertiaRotate, S, Tail>("inertia_rotate"),
      pair_map<InertiaTranslate, S, Tail>("inertia_translate"),
      pair_map<InertiaTransform, S, Tail>("inertia_transform"),
      pair_map<InertiaTimesTwist, S, Tail>("inertia_times_twist"),
      pair_map<InertiaKineticEnergy, S, Tail>("inertia_kinetic_energy"),
      pair_map<InertiaFactor, S, Tail>("inertia_factor"),
  }};
}

}  // namespace pysim::engine
