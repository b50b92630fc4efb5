// Functions of rows of numbers, row by row: rotations and displacements as arrays, and elementary functions.
//
// A map reads `in` numbers per row and writes `out`. Matrices are row-major here, as in NumPy. To add a
// map, write one struct and one line of the table.
#pragma once

#include "engine/body_regressor_map.hpp"
#include "engine/map_tables.hpp"
#include "spatial/se3.hpp"

namespace pysim::engine {

template <int numbers_in, int numbers_out>
struct Columns {
  static constexpr int in = numbers_in, out = numbers_out;
};

template <class S>
PYSIM_INLINE spatial::Vec3<S> vector_from(const S* x) {
  return {x[0], x[1], x[2]};
}

template <class S>
PYSIM_INLINE void write_vector(const spatial::Vec3<S>& a, S* y) {
  y[0] = a.x, y[1] = a.y, y[2] = a.z;
}

/// A 3×3 block of a matrix whose rows are `stride` numbers long.
template <class S>
PYSIM_INLINE spatial::Mat3<S> matrix_from(const S* x, int stride) {
  const S *r = x, *s = x + stride, *t = x + 2 * stride;
  return {{r[0], s[0], t[0]}, {r[1], s[1], t[1]}, {r[2], s[2], t[2]}};
}

template <class S>
PYSIM_INLINE void write_matrix(const spatial::Mat3<S>& A, S* y, int stride) {
  y[0] = A.x.x, y[1] = A.y.x, y[2] = A.z.x;
  y[stride] = A.x.y, y[stride + 1] = A.y.y, y[stride + 2] = A.z.y;
  y[2 * stride] = A.x.z, y[2 * stride + 1] = A.y.z, y[2 * stride + 2] = A.z.z;
}

template <class S>
PYSIM_INLINE spatial::Motion<S> motion_from(const S* x) {
  return {vector_from(x), vector_from(x + 3)};
}

struct So3Exp : Columns<3, 9> {
  template <class S>
  static void at(const S* x, S* y) {
    write_matrix(spatial::exp(vector_from(x)), y, 3);
  }
};

struct So3Log : Columns<9, 3> {
  template <class S>
  static void at(const S* x, S* y) {
    write_vector(spatial::log(matrix_from(x, 3)), y);
  }
};

struct So3LeftJacobian : Columns<3, 9> {
  template <class S>
  static void at(const S* x, S* y) {
    write_matrix(spatial::left_jacobian(vector_from(x)), y, 3);
  }
};

struct So3LeftJacobianInverse : Columns<3, 9> {
  template <class S>
  static void at(const S* x, S* y) {
    write_matrix(spatial::left_jacobian_inverse(vector_from(x)), y, 3);
  }
};

struct Se3Exp : Columns<6, 16> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto X = spatial::exp(motion_from(x));
    write_matrix(X.R, y, 4);
    y[3] = X.p.x, y[7] = X.p.y, y[11] = X.p.z;
    y[12] = y[13] = y[14] = simd::all<S>(0), y[15] = simd::all<S>(1);
  }
};

struct Se3Log : Columns<16, 6> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto xi = spatial::log(spatial::Pose<S>{matrix_from(x, 4), {x[3], x[7], x[11]}});
    write_vector(xi.v, y);
    write_vector(xi.w, y + 3);
  }
};

/// [[J, Q], [0, J]]: the diagonal blocks are SO(3)'s, Q is the linear effect of the angular columns.
template <class S, class Times>
PYSIM_INLINE void write_se3_jacobian(const spatial::Mat3<S>& J, Times times, S* y) {
  const S o = simd::all<S>(0), e = simd::all<S>(1);
  const spatial::Mat3<S> Q = {times({spatial::zero3<S>(), {e, o, o}}).v,
                              times({spatial::zero3<S>(), {o, e, o}}).v,
                              times({spatial::zero3<S>(), {o, o, e}}).v};
  write_matrix(J, y, 6);
  write_matrix(Q, y + 3, 6);
  write_matrix(spatial::Mat3<S>{spatial::zero3<S>(), spatial::zero3<S>(), spatial::zero3<S>()}, y + 18, 6);
  write_matrix(J, y + 21, 6);
}

struct Se3LeftJacobian : Columns<6, 36> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto xi = motion_from(x);
    const auto times = [&](const spatial::Motion<S>& V) { return spatial::left_jacobian_times(xi, V); };
    write_se3_jacobian(spatial::left_jacobian(xi.w), times, y);
  }
};

struct Se3LeftJacobianInverse : Columns<6, 36> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto xi = motion_from(x);
    const auto times = [&](const spatial::Motion<S>& V) {
      return spatial::left_jacobian_inverse_times(xi, V);
    };
    write_se3_jacobian(spatial::left_jacobian_inverse(xi.w), times, y);
  }
};

struct RotationFromQuaternion : Columns<4, 9> {
  template <class S>
  static void at(const S* x, S* y) {
    write_matrix(spatial::rotation(spatial::Quaternion<S>{x[0], x[1], x[2], x[3]}), y, 3);
  }
};

/// The unit quaternion of a rotation with w ≥ 0.
template <class S>
PYSIM_INLINE void write_quaternion(const spatial::Mat3<S>& R, S* y) {
  const auto q = spatial::quaternion_of(R);
  const auto turned = q.w < simd::all<S>(0);
  y[0] = select(turned, -q.x, q.x), y[1] = select(turned, -q.y, q.y);
  y[2] = select(turned, -q.z, q.z), y[3] = select(turned, -q.w, q.w);
}

struct QuaternionFromRotation : Columns<9, 4> {
  template <class S>
  static void at(const S* x, S* y) {
    write_quaternion(matrix_from(x, 3), y);
  }
};

/// Position and quaternion of a displacement.
struct PositionAndQuaternion : Columns<16, 7> {
  template <class S>
  static void at(const S* x, S* y) {
    y[0] = x[3], y[1] = x[7], y[2] = x[11];
    write_quaternion(matrix_from(x, 4), y + 3);
  }
};

/// Deviation of a matrix from a rotation: RᵀR − 1 (xx, yy, zz, xy, yz, zx) and det R.
struct RotationDefect : Columns<9, 7> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto R = matrix_from(x, 3);
    const S e = simd::all<S>(1);
    y[0] = dot(R.x, R.x) - e, y[1] = dot(R.y, R.y) - e, y[2] = dot(R.z, R.z) - e;
    y[3] = dot(R.x, R.y), y[4] = dot(R.y, R.z), y[5] = dot(R.z, R.x);
    y[6] = dot(R.x, cross(R.y, R.z));
  }
};

struct Sin : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::sin(*x);
  }
};

struct Cos : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::cos(*x);
  }
};

struct Tan : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::tan(*x);
  }
};

struct Asin : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::asin(*x);
  }
};

struct Acos : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::acos(*x);
  }
};

struct Atan : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::atan(*x);
  }
};

struct Exp : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::exp(*x);
  }
};

struct Log : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::log(*x);
  }
};

struct Tanh : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::tanh(*x);
  }
};

struct Floor : Columns<1, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::floor(*x);
  }
};

struct Atan2 : Columns<2, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::atan2(x[0], x[1]);
  }
};

struct Hypot : Columns<2, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::hypot(x[0], x[1]);
  }
};

struct Pow : Columns<2, 1> {
  template <class S>
  static void at(const S* x, S* y) {
    *y = simd::pow(x[0], x[1]);
  }
};

/// One pack of rows.
template <class Map, class S>
void map_pack(const typename S::Real* x, typename S::Real* y) {
  S in[Map::in], out[Map::out];
  for (int i = 0; i < Map::in; ++i) in[i] = simd::gather<S>(x + i, Map::in);
  Map::at(in, out);
  for (int i = 0; i < Map::out; ++i) simd::scatter(out[i], y + i, Map::out);
}

/// Whole packs first, then the remaining rows one at a time by the same code.
template <class Map, class S, class Tail>
void map_rows(const typename S::Real* x, typename S::Real* y, std::ptrdiff_t rows) {
  std::ptrdiff_t k = 0;
  for (; k + S::width <= rows; k += S::width) map_pack<Map, S>(x + k * Map::in, y + k * Map::out);
  for (; k < rows; ++k) map_pack<Map, Tail>(x + k * Map::in, y + k * Map::out);
}

template <class Map, class S, class Tail>
constexpr RowMap<typename S::Real> row_map(const char* name) noexcept {
  return {name, Map::in, Map::out, &map_rows<Map, S, Tail>};
}

template <class S, class Tail>
constexpr SpatialKernels<typename S::Real> make_spatial_kernels() noexcept {
  return {{
      row_map<So3Exp, S, Tail>("so3_exp"),
      row_map<So3Log, S, Tail>("so3_log"),
      row_map<So3LeftJacobian, S, Tail>("so3_left_jacobian"),
      row_map<So3LeftJacobianInverse, S, Tail>("so3_left_jacobian_inverse"),
      row_map<Se3Exp, S, Tail>("se3_exp"),
      row_map<Se3Log, S, Tail>("se3_log"),
      row_map<Se3LeftJacobian, S, Tail>("se3_left_jacobian"),
      row_map<Se3LeftJacobianInverse, S, Tail>("se3_left_jacobian_inverse"),
      row_map<RotationFromQuaternion, S, Tail>("rotation_from_quaternion"),
      row_map<QuaternionFromRotation, S, Tail>("quaternion_from_rotation"),
      row_map<PositionAndQuaternion, S, Tail>("position_and_quaternion"),
      row_map<RotationDefect, S, Tail>("rotation_defect"),
      row_map<Sin, S, Tail>("sin"),
      row_map<Cos, S, Tail>("cos"),
      row_map<Tan, S, Tail>("tan"),
      row_map<Asin, S, Tail>("asin"),
      row_map<Acos, S, Tail>("acos"),
      row_map<Atan, S, Tail>("atan"),
      row_map<Exp, S, Tail>("exp"),
      row_map<Log, S, Tail>("log"),
      row_map<Tanh, S, Tail>("tanh"),
      row_map<Floor, S, Tail>("floor"),
      row_map<Atan2, S, Tail>("atan2"),
      row_map<Hypot, S, Tail>("hypot"),
      row_map<Pow, S, Tail>("pow"),
      row_map<BodyRegressor, S, Tail>("body_regressor"),
  }};
}

}  // namespace pysim::engine
