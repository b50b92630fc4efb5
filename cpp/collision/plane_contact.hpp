// Points of a shape that touch a plane first, in closed form.
//
//   sphere      c − r n                              ellipsoid   −A² n / |A n|,  A = diag(a, b, c)
//   capsule     the lowest point of each cap         box         its corners
//   cylinder    the lowest points of both rims and two more of the lower rim, 120° away: three carry one
//               that stands, two one that lies, and the first moves along the rim of a disc that rolls
//   cone        the lowest point of the rim, two more of it, 120° away, and the tip
//   mesh        the support vertices of four directions that lean from −n to all sides
//
// n is the plane's normal in the shape's frame, away from the solid side.
#pragma once

#include "collision/shapes.hpp"
#include "simd/lookup.hpp"
#include "spatial/pose.hpp"

namespace pysim::collision {

using simd::all;
using simd::select;
using spatial::Vec3;

/// Below this sine of the angle between a cylinder's axis and the normal, its lowest rim point is undefined.
template <class Real>
constexpr Real upright = sizeof(Real) == 8 ? Real(1e-6) : Real(1e-5);

/// How far the four directions of a mesh lean from −n.
constexpr double lean = 0.05;

template <class S>
void cylinder_points(const Vec3<S>& n, S radius, S half_length, Vec3<S>* point) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1), sine = sqrt(fma(n.x, n.x, n.y * n.y));
  const auto leans = sine > all<S>(upright<Real>);
  const S inverse = e / select(leans, sine, e);
  const S x = select(leans, -n.x * inverse, e), y = select(leans, -n.y * inverse, o);  // lowest of a rim
  const S z = select(n.z > o, -half_length, half_length);                              // the lower cap
  const S half = all<S>(Real(-0.5)), other = all<S>(Real(0.8660254037844386467637));   // cos, sin of 120°
  point[0] = {radius * x, radius * y, z};
  point[1] = {radius * x, radius * y, -z};
  point[2] = {radius * fms(half, x, other * y), radius * fma(half, y, other * x), z};
  point[3] = {radius * fma(half, x, other * y), radius * fms(half, y, other * x), z};
}

/// Number of the point that is farthest along a direction, of points (x, y, z) `stride` numbers apart: groups
/// that cannot hold it are passed over.
template <class S>
S farthest_point(const typename S::Real* point,
                 int stride,
                 const PointGroups<typename S::Real>& groups,
                 const Vec3<S>& direction) {
  using Real = typename S::Real;
  using Group = PointGroup;
  S most = all<S>(-__builtin_inf()), found = all<S>(0);
  const auto look_at = [&](int i) {
    const S reach = dot(direction, spatial::all3<S>(point + stride * i));
    const auto farther = reach > most;
    most = select(farther, reach, most);
    found = select(farther, all<S>(static_cast<Real>(i)), found);
  };
  for (int g = 0; g < groups.count; ++g) {
    look_at(static_cast<int>(groups.group[Group::numbers * g + Group::first]));
  }
  const S length = sqrt(dot(direction, direction));
  for (int g = 0; g < groups.count; ++g) {
    const Real* group = groups.group + Group::numbers * g;
    const S reach = fma(all<S>(group[Group::radius]), length, dot(direction, spatial::all3<S>(group)));
    if (none(reach > most)) continue;
    const int first = static_cast<int>(group[Group::first]), count = static_cast<int>(group[Group::count]);
    for (int i = first + 1; i < first + count; ++i) look_at(i);
  }
  return found;
}

/// The vertex that is farthest along `direction`; its number in `found`.
template <class S>
Vec3<S> support_vertex(const Shape<typename S::Real>& shape, const Vec3<S>& direction, S& found) {
  found = farthest_point(shape.vertex, 3, shape.of_vertices, direction);
  return {simd::lookup(shape.vertex, found, 3),
          simd::lookup(shape.vertex + 1, found, 3),
          simd::lookup(shape.vertex + 2, found, 3)};
}

/// A unit vector across a unit vector.
template <class S>
Vec3<S> tangent(const Vec3<S>& n) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1);
  const auto along_x = abs(n.x) > all<S>(Real(0.8));
  const Vec3<S> axis = {select(along_x, o, e), select(along_x, e, o), o};
  const Vec3<S> raw = axis - dot(n, axis) * n;
  return (e / sqrt(dot(raw, raw))) * raw;
}

/// Four support vertices; `apart` holds for those that are not among the ones before.
template <class S>
void mesh_points(const Shape<typename S::Real>& shape,
                 const Vec3<S>& n,
                 Vec3<S>* point,
                 simd::Mask<S>* apart) {
  using Real = typename S::Real;
  const Vec3<S> t = tangent(n), side = cross(n, t);
  S number[4];
  for (int k = 0; k < 4; ++k) {
    const S a = all<S>(Real(k == 0 || k == 3 ? lean : -lean)), b = all<S>(Real(k < 2 ? lean : -lean));
    point[k] = support_vertex<S>(shape, fma(b, side, fma(a, t, -n)), number[k]);
    apart[k] = simd::everywhere<S>();
    for (int j = 0; j < k; ++j) apart[k] &= !(number[k] == number[j]);
  }
}

/// The points, in the shape's frame; `apart` is false for a point that another one stands for.
template <class S>
void points_to_plane(const Shape<typename S::Real>& shape,
                     const Vec3<S>& n,
                     Vec3<S>* point,
                     simd::Mask<S>* apart) {
  const S o = all<S>(0);
  const Vec3<S> size = spatial::all3<S>(shape.size);
  for (int k = 0; k < plane_points[static_cast<int>(shape.kind)]; ++k) apart[k] = simd::everywhere<S>();
  switch (shape.kind) {
    case ShapeKind::sphere:
      point[0] = -size.x * n;
      return;
    case ShapeKind::capsule:
      point[0] = fnma(size.x, n, Vec3<S>{o, o, size.y});
      point[1] = fnma(size.x, n, Vec3<S>{o, o, -size.y});
      return;
    case ShapeKind::box:
      for (int k = 0; k < 8; ++k) {
        point[k] = {k & 1 ? size.x : -size.x, k & 2 ? size.y : -size.y, k & 4 ? size.z : -size.z};
      }
      return;
    case ShapeKind::cylinder:
      return cylinder_points(n, size.x, size.y, point);
    case ShapeKind::cone:
      cylinder_points({n.x, n.y, all<S>(1)}, size.x, size.y, point);
      point[1] = {o, o, size.y};
      return;
    case ShapeKind::ellipsoid: {
      const Vec3<S> stretched = {size.x * n.x, size.y * n.y, size.z * n.z};
      const S inverse = all<S>(-1) / sqrt(dot(stretched, stretched));
      point[0] = {
          inverse * size.x * stretched.x, inverse * size.y * stretched.y, inverse * size.z * stretched.z};
      return;
    }
    case ShapeKind::mesh:
      return mesh_points(shape, n, point, apart);
  }
}

}  // namespace pysim::collision
