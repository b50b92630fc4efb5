// Signed-distance fields: solids {p : d(p) < 0} of a traced program, or of a grid of heights.
//
//     program    d and ∇d of p                              grid    d = z − h(x, y), h bilinear in each cell
//
//     n = ∇d/|∇d|        gap = d/|∇d|        exact at the surface, and everywhere if |∇d| = 1
//
// Points of contact of shapes are in shapes/.
//
// On a grid, a ball and an end of a capsule have one for each of the four cells about the nearest node: the
// nearest point of the cell. Its number is the parity of the cell, so a cell keeps its number, and with it
// the memory of friction, while the ball moves. There are no deepest points, and none in the middle of a
// capsule.
//
// All are in the field's frame. A point that moves between the others, in the middle of a capsule or the
// deepest one, has the gap that lies between it and the deepest of these: where one of them is as deep, only
// that carries, and no force jumps.
#pragma once

#include "collision/distance.hpp"
#include "tree/program.hpp"

namespace pysim::collision {

/// Heights [m] at the nodes of a grid, centred at the origin: `rows` along y, each of `columns` along x.
template <class Real>
struct HeightGrid {
  int columns, rows;
  Real spacing[2];     ///< [m] along x and y
  Real highest;        ///< [m]
  Real steepest;       ///< √(1 + |∇h|²), most of it
  const Real* height;  ///< null for none
};

template <class Real>
struct Field {
  tree::ProgramView<Real> program;  ///< of p (3) to d and ∇d
  HeightGrid<Real> grid;
};

/// |∇d| of a program is at most this.
constexpr double steepest_distance = 1.01;
/// Below this size of ∇d, as at the middle of a ball, there is no normal.
constexpr double least_slope = 0.1;
/// Registers of a program, which are on the stack.
constexpr int most_field_registers = 1024;

/// The pack of S without models that differ between worlds: fields are the same in all of them.
template <class S>
struct UniformOf {
  using type = S;
};

template <class Real, int W, class Isa>
struct UniformOf<simd::Pack<Real, W, simd::Varied<Isa>>> {
  using type = simd::Pack<Real, W, Isa>;
};

/// A field at a point.
template <class S>
struct FieldValue {
  Vec3<S> n;  ///< unit
  S gap;      ///< d/|∇d|, infinite where there is no surface
  S bound;    ///< no more than the distance to the solid [m]
  simd::Mask<S> exists;
};

template <class To, class From>
PYSIM_INLINE To same_lanes(const From& x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  simd::copy_bytes(&y, &x, sizeof x);
  return y;
}

/// d and ∇d by the program.
template <class S>
PYSIM_NOINLINE void run_field(const tree::ProgramView<typename S::Real>& program,
                              const Vec3<S>& p,
                              S (&out)[4]) {
  using U = typename UniformOf<S>::type;
  const std::size_t bytes = sizeof(U) * static_cast<std::size_t>(program.registers);
  U* const r = static_cast<U*>(PYSIM_STACK_BYTES(bytes, alignof(U)));
  r[0] = same_lanes<U>(p.x);
  r[1] = same_lanes<U>(p.y);
  r[2] = same_lanes<U>(p.z);
  tree::load_constants<U>(program, r + 3);
  tree::run<U>(program, 0, program.end, r);
  for (int i = 0; i < 4; ++i) out[i] = same_lanes<S>(r[program.outputs[i]]);
}

/// Place of a coordinate on a grid: its cell, and how far in the cell, 0 … 1.
template <class S>
struct CellPlace {
  S cell, share;
  simd::Mask<S> within;

  CellPlace(S x, typename S::Real spacing, int nodes) {
    using Real = typename S::Real;
    const S last = all<S>(Real(nodes - 1)), o = all<S>(0);
    const S at = fma(x, all<S>(Real(1) / spacing), all<S>(Real(0.5)) * last);
    within = (at >= o) & (at <= last);
    const S inside = select(within, at, o);
    cell = min(simd::floor(inside), last - all<S>(1));
    share = inside - cell;
  }
};

template <class S>
FieldValue<S> grid_value(const HeightGrid<typename S::Real>& grid, const Vec3<S>& p) {
  using Real = typename S::Real;
  using U = typename UniformOf<S>::type;
  const CellPlace<S> x(p.x, grid.spacing[0], grid.columns), y(p.y, grid.spacing[1], grid.rows);
  const U node = same_lanes<U>(fma(y.cell, all<S>(Real(grid.columns)), x.cell));
  const int nodes = grid.columns * grid.rows;
  const auto height = [&](int offset) {
    return same_lanes<S>(simd::lookup(grid.height + offset, node, 1, nodes - offset));
  };
  const S h00 = height(0), h10 = height(1), h01 = height(grid.columns), h11 = height(grid.columns + 1);
  const S low = fma(x.share, h10 - h00, h00), high = fma(x.share, h11 - h01, h01);
  const S by_x = all<S>(Real(1) / grid.spacing[0]) * fma(y.share, (h11 - h01) - (h10 - h00), h10 - h00);
  const S by_y = all<S>(Real(1) / grid.spacing[1]) * (high - low);
  const S scale = all<S>(1) / sqrt(fma(by_x, by_x, fma(by_y, by_y, all<S>(1))));
  FieldValue<S> value;
  value.n = {-scale * by_x, -scale * by_y, scale};
  const S above = p.z - fma(y.share, high - low, low);
  value.exists = x.within & y.within;
  value.gap = select(value.exists, scale * above, all<S>(simd::infinity));
  const auto beyond = [](S at, int nodes, Real spacing) {
    return abs(at) - all<S>(Real(0.5) * Real(nodes - 1) * spacing);
  };
  const S outside = max(beyond(p.x, grid.columns, grid.spacing[0]), beyond(p.y, grid.rows, grid.spacing[1]));
  const S far = max(p.z - all<S>(grid.highest), outside);
  value.bound = select(value.exists, max(above / all<S>(grid.steepest), far), far);
  return value;
}

template <class S>
FieldValue<S> field_value(const Field<typename S::Real>& field, const Vec3<S>& p) {
  using Real = typename S::Real;
  if (field.grid.height != nullptr) return grid_value(field.grid, p);
  S out[4];
  run_field(field.program, p, out);
  const S o = all<S>(0), e = all<S>(1);
  const S square = fma(out[1], out[1], fma(out[2], out[2], out[3] * out[3]));
  FieldValue<S> found;
  found.exists = square > all<S>(Real(least_slope * least_slope));  // not where it is NaN
  const S inverse = e / sqrt(select(found.exists, square, e));
  found.bound = all<S>(Real(1 / steepest_distance)) * out[0];
  found.n = select(found.exists, inverse * Vec3<S>{out[1], out[2], out[3]}, Vec3<S>{o, o, e});
  found.gap = select(found.exists, inverse * out[0], all<S>(simd::infinity));
  return found;
}

constexpr int cells_of_ball = 4;  ///< of a grid

template <class Real>
bool is_grid(const Field<Real>& field) {
  return field.grid.height != nullptr;
}

/// A point of a shape and the field there.
template <class S>
struct FieldPoint {
  Vec3<S> p, n;
  S gap, bound;
  simd::Mask<S> exists;
};

template <class S>
FieldPoint<S> point_of(const Vec3<S>& p, const FieldValue<S>& at) {
  return {p, at.n, at.gap, at.bound, at.exists};
}

/// Nearest point of a sphere about c: in the direction of −n at its centre, where the field is exact.
template <class S>
FieldPoint<S> sphere_point(const Field<typename S::Real>& field, const Vec3<S>& c, S radius) {
  const FieldValue<S> centre = field_value(field, c);
  const Vec3<S> p = fnma(radius, centre.n, c);
  return point_of(p, field_value(field, p));
}

/// Height and slopes of a cell at shares s and t of its sides.
template <class S>
struct CellSurface {
  S h00, by_s, by_t, twist;

  CellSurface(const HeightGrid<typename S::Real>& grid, S column, S row) {
    using U = typename UniformOf<S>::type;
    const U node = same_lanes<U>(fma(row, all<S>(typename S::Real(grid.columns)), column));
    const int nodes = grid.columns * grid.rows;
    const auto height = [&](int offset) {
      return same_lanes<S>(simd::lookup(grid.height + offset, node, 1, nodes - offset));
    };
    h00 = height(0);
    by_s = height(1) - h00;
    by_t = height(grid.columns) - h00;
    twist = height(grid.columns + 1) - h00 - by_s - by_t;
  }

  S height(S s, S t) const { return fma(fma(twist, t, by_s), s, fma(by_t, t, h00)); }
};

/// visit(k, point) for the nearest points of a ball in the four cells about the node that is nearest to its
/// centre; k is the parity of the cell. The projection onto the tangent plane is repeated.
template <class S, class Visit>
void ball_on_grid(const HeightGrid<typename S::Real>& grid, const Vec3<S>& c, S radius, const Visit& visit) {
  using Real = typename S::Real;
  constexpr int projections = 3;
  const S o = all<S>(0), e = all<S>(1), half = all<S>(Real(0.5)), far = all<S>(simd::infinity);
  const Real dx = grid.spacing[0], dy = grid.spacing[1];
  const S x = fma(c.x, all<S>(Real(1) / dx), all<S>(Real(0.5) * Real(grid.columns - 1)));
  const S y = fma(c.y, all<S>(Real(1) / dy), all<S>(Real(0.5) * Real(grid.rows - 1)));
  const auto inside = [&](S at, int nodes) { return max(min(at, all<S>(Real(nodes - 1))), o); };
  const S i = simd::floor(inside(x, grid.columns) + half), j = simd::floor(inside(y, grid.rows) + half);
  const auto parity = [&](S at) { return at - all<S>(2) * simd::floor(half * at); };
  const S odd_i = parity(i), odd_j = parity(j);
  const S bound = field_value(Field<Real>{{}, grid}, c).bound - radius;
  FieldPoint<S> point[cells_of_ball];
  simd::Mask<S> inner[cells_of_ball], rim_s[cells_of_ball], rim_t[cells_of_ball];
  for (int k = 0; k < cells_of_ball; ++k) {
    // of columns i − 1 and i, the one whose parity is that of k
    const S column = select(odd_i == all<S>(Real(k & 1)), i, i - e);
    const S row = select(odd_j == all<S>(Real(k >> 1)), j, j - e);
    const auto is_cell = (column >= o) & (column <= all<S>(Real(grid.columns - 2))) & (row >= o) &
                         (row <= all<S>(Real(grid.rows - 2)));
    const CellSurface<S> cell(grid, select(is_cell, column, o), select(is_cell, row, o));
    S s = max(min(x - column, e), o), t = max(min(y - row, e), o);
    Vec3<S> n, r;
    for (int m = 0;; ++m) {
      const S by_x = all<S>(Real(1) / dx) * fma(cell.twist, t, cell.by_s);
      const S by_y = all<S>(Real(1) / dy) * fma(cell.twist, s, cell.by_t);
      const S scale = e / sqrt(fma(by_x, by_x, fma(by_y, by_y, e)));
      n = {-scale * by_x, -scale * by_y, scale};
      r = {all<S>(dx) * (x - column - s), all<S>(dy) * (y - row - t), c.z - cell.height(s, t)};
      if (m == projections) break;
      const S along = dot(n, r);
      s = max(min(fma(all<S>(Real(1) / dx), fnma(along, n.x, r.x), s), e), o);
      t = max(min(fma(all<S>(Real(1) / dy), fnma(along, n.y, r.y), t), e), o);
    }
    // At the rim of a cell, the direction to the point is another one than the normal. A rim counts for the
    // cell below the centre alone: else it would act on even ground, too.
    const S above = dot(n, r), length = sqrt(dot(r, r));
    rim_s[k] = (s <= o) | (s >= e);
    rim_t[k] = (t <= o) | (t >= e);
    const auto in_column = (x >= column) & (x < column + e), in_row = (y >= row) & (y < row + e);
    const auto is_rim = (rim_s[k] | rim_t[k]) & (above > o) & (length > o);
    const Vec3<S> direction = select(is_rim, (e / select(is_rim, length, e)) * r, n);
    FieldPoint<S>& F = point[k];
    F.n = direction;
    F.p = fnma(radius, direction, c);
    F.gap = select(is_cell, select(is_rim, length, above) - radius, far);
    F.bound = bound;
    F.exists = is_cell & ((!rim_s[k]) | in_column) & ((!rim_t[k]) | in_row);
    inner[k] = is_cell & !(rim_s[k] | rim_t[k]);
  }
  // A rim is not nearest where a point inside the cell beyond it is nearer, as on even ground that slopes.
  const auto nearer = [&](int k, int other) { return inner[other] & (point[other].gap <= point[k].gap); };
  for (int k = 0; k < cells_of_ball; ++k) {
    FieldPoint<S> F = point[k];
    F.exists = F.exists & !((rim_s[k] & nearer(k, k ^ 1)) | (rim_t[k] & nearer(k, k ^ 2)) |
                            (rim_s[k] & rim_t[k] & nearer(k, k ^ 3)));
    visit(k, F);
  }
}

/// The deepest point of a convex solid in a field. The projection onto the surface at the depth `level`, and
/// back by `onto` into the solid, has a linear rate, from which Aitken's extrapolation finds its limit, axis
/// by axis [Aitken 1926]. Points are on the axes of the solid, which is at X.
template <class Kind, class S>
FieldPoint<S> deepest_point(const Field<typename S::Real>& field, const Vec3<S>& size, const Pose<S>& X) {
  using Real = typename S::Real;
  constexpr int rounds = 3;
  const S e = all<S>(1), tiny = all<S>(sizeof(Real) == 8 ? Real(1e-14) : Real(1e-6));
  const S level = Kind::inner_radius(size);
  const auto onto = [&](const Vec3<S>& p) { return Kind::nearest_inside(size, p); };
  const auto step = [&](const Vec3<S>& own) {
    const FieldValue<S> at = field_value(field, X * own);
    const S way = select(at.exists, at.gap, all<S>(0)) + level;
    return onto(fnma(way, transpose_times(X.R, at.n), own));
  };
  const auto limit = [&](S a, S b, S c) {
    const S first = b - a, second = c - b, change = first - second;
    const auto bends = abs(change) > tiny * level;
    return select(bends, fma(second, second / select(bends, change, e), c), c);
  };
  Vec3<S> a = onto(spatial::zero3<S>());
  for (int k = 0; k < rounds; ++k) {
    const Vec3<S> b = step(a), c = step(b);
    a = onto(Vec3<S>{limit(a.x, b.x, c.x), limit(a.y, b.y, c.y), limit(a.z, b.z, c.z)});
  }
  const Vec3<S> p = X * a;
  return point_of(p, field_value(field, p));
}

}  // namespace pysim::collision
