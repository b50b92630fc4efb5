// Functions of rows of numbers, row by row: rotations and displacements as arrays, and elementary functions.
//
// A map reads `in` numbers per row and writes `out`. Matrices are row-major here, as in NumPy. To add a
// map, write one struct and one line of the table, or an entry of the list of elementary functions.
#pragma once

#include "engine/body_regressor_map.hpp"
#include "engine/map_tables.hpp"
#include "engine/row_vectors.hpp"
#include "spatial/se3.hpp"

namespace pysim::engine {

template <int numbers_in, int numbers_out>
struct Columns {
  static constexpr int in = numbers_in, out = numbers_out;
};

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

struct So3Exp : Columns<3, 9> {
  template <class S>
  static void at(const S* x, S* y) {
    write_matrix(spatial::exp(vec3_of(x)), y, 3);
  }
};

struct So3Log : Columns<9, 3> {
  template <class S>
  static void at(const S* x, S* y) {
    put(spatial::log(matrix_from(x, 3)), y);
  }
};

struct So3LeftJacobian : Columns<3, 9> {
  template <class S>
  static void at(const S* x, S* y) {
    write_matrix(spatial::left_jacobian(vec3_of(x)), y, 3);
  }
};

struct So3LeftJacobianInverse : Columns<3, 9> {
  template <class S>
  static void at(const S* x, S* y) {
    write_matrix(spatial::left_jacobian_inverse(vec3_of(x)), y, 3);
  }
};

struct Se3Exp : Columns<6, 16> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto X = spatial::exp(twist_of(x));
    write_matrix(X.R, y, 4);
    y[3] = X.p.x, y[7] = X.p.y, y[11] = X.p.z;
    y[12] = y[13] = y[14] = simd::all<S>(0), y[15] = simd::all<S>(1);
  }
};

struct Se3Log : Columns<16, 6> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto xi = spatial::log(spatial::Pose<S>{matrix_from(x, 4), {x[3], x[7], x[11]}});
    put(xi, y);
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
    const auto xi = twist_of(x);
    const auto times = [&](const spatial::Motion<S>& V) { return spatial::left_jacobian_times(xi, V); };
    write_se3_jacobian(spatial::left_jacobian(xi.w), times, y);
  }
};

struct Se3LeftJacobianInverse : Columns<6, 36> {
  template <class S>
  static void at(const S* x, S* y) {
    const auto xi = twist_of(x);
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

// clang-format off

/// Elementary functions of one number: entry(operation, function).
#define PYSIM_FUNCTIONS_OF_ONE(entry)                                               \
  entry(Sin, sin) entry(Cos, cos) entry(Tan, tan) entry(Asin, asin) entry(Acos, acos) \
  entry(Atan, atan) entry(Exp, exp) entry(Log, log) entry(Tanh, tanh) entry(Floor, floor)

/// And of two.
#define PYSIM_FUNCTIONS_OF_TWO(entry) entry(Atan2, atan2) entry(Hypot, hypot) entry(Pow, pow)

// clang-format on

#define PYSIM_OF_ONE(Name, function)   \
  struct Name : Columns<1, 1> {        \
    template <class S>                 \
    static void at(const S* x, S* y) { \
      *y = simd::function(*x);         \
    }                                  \
  };
#define PYSIM_OF_TWO(Name, function)   \
  struct Name : Columns<2, 1> {        \
    template <class S>                 \
    static void at(const S* x, S* y) { \
      *y = simd::function(x[0], x[1]); \
    }                                  \
  };

PYSIM_FUNCTIONS_OF_ONE(PYSIM_OF_ONE)
PYSIM_FUNCTIONS_OF_TWO(PYSIM_OF_TWO)

#undef PYSIM_OF_ONE
#undef PYSIM_OF_TWO

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

#define PYSIM_ROW_MAP(Name, function) row_map<Name, S, Tail>(#function),

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
      PYSIM_FUNCTIONS_OF_ONE(PYSIM_ROW_MAP) PYSIM_FUNCTIONS_OF_TWO(PYSIM_ROW_MAP)
          row_map<BodyRegressor, S, Tail>("body_regressor"),
  }};
}

#undef PYSIM_ROW_MAP

}  // namespace pysim::engine
