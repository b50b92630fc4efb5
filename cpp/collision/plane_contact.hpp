// Points of a shape that touch a plane first, in closed form.
//
//   sphere      c − r n                              ellipsoid   −A² n / |A n|,  A = diag(a, b, c)
//   capsule     the lowest point of each cap         box         its corners
//   cylinder    the lowest points of both rims and two more of the lower rim, 120° away: three carry a
//   cylinder
//               that stands, two one that lies, and the first moves along the rim of a disc that rolls
//   mesh        the support vertices of four directions that lean from −n to all sides
//
// n is the plane's normal in the shape's frame, away from the solid side.
#pragma once

#include "collision/shapes.hpp"
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

/// The vertex that is farthest along `direction`; its number in `found`.
template <class S>
Vec3<S> support_vertex(const Shape<typename S::Real>& shape, const Vec3<S>& direction, S& found) {
  using Real = typename S::Real;
  S most = all<S>(-__builtin_inf());
  Vec3<S> best = spatial::zero3<S>();
  found = all<S>(-1);
  for (int i = 0; i < shape.vertices; ++i) {
    const Vec3<S> p = spatial::all3<S>(shape.vertex + 3 * i);
    const S reach = dot(direction, p);
    const auto farther = reach > most;
    most = select(farther, reach, most);
    best = select(farther, p, best);
    found = select(farther, all<S>(static_cast<Real>(i)), found);
  }
  return best;
}

/// Four support vertices; `apart` holds for those that are not among the ones before.
template <class S>
void mesh_points(const Shape<typename S::Real>& shape,
                 const Vec3<S>& n,
                 Vec3<S>* point,
                 simd::Mask<S>* apart) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1);
  const auto along_x = abs(n.x) > all<S>(Real(0.8));
  const Vec3<S> axis = {select(along_x, o, e), select(along_x, e, o), o};
  const Vec3<S> raw = axis - dot(n, axis) * n;
  const Vec3<S> t = (e / sqrt(dot(raw, raw))) * raw, side = cross(n, t);
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
