// Mesh without sizes: the convex hull of its vertices, with the origin well inside.
#pragma once

#include "collision/shapes/shape_kind.hpp"
#include "simd/lookup.hpp"

namespace pysim::collision {

/// How far the four directions of a mesh lean from −n.
constexpr double lean = 0.05;

/// Number of the point that is farthest along a direction, of points (x, y, z) `stride` numbers apart; of
/// those that differ by less than `tie`, one that comes first. Groups that cannot hold it are passed over.
template <class S>
S farthest_point(const typename S::Real* point,
                 int stride,
                 const PointGroups<typename S::Real>& groups,
                 const Vec3<S>& direction,
                 S tie = all<S>(0)) {
  using Real = typename S::Real;
  using Group = PointGroup;
  S most = all<S>(-simd::infinity), farthest = all<S>(0);
  const auto look_at = [&](int i) {
    const S reach = dot(direction, spatial::all3<S>(point + stride * i));
    const auto farther = reach > most + tie;
    most = select(farther, reach, most);
    farthest = select(farther, all<S>(static_cast<Real>(i)), farthest);
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
  return farthest;
}

/// The vertex of a number.
template <class S>
Vec3<S> vertex_of(const Shape<typename S::Real>& shape, S number) {
  const auto entry = [&](int axis) { return simd::lookup(shape.vertex + axis, number, 3, shape.vertices); };
  return {entry(0), entry(1), entry(2)};
}

/// The vertex that is farthest along `direction`; its number in `found`.
template <class S>
Vec3<S> support_vertex(const Shape<typename S::Real>& shape, const Vec3<S>& direction, S& found) {
  found = farthest_point(shape.vertex, 3, shape.of_vertices, direction);
  return vertex_of<S>(shape, found);
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

struct Mesh : ConvexKind<Mesh> {
  static constexpr const char* name = "mesh";
  static constexpr int plane_points = 4;
  static constexpr int facet_size = 4;
  static constexpr bool is_mesh = true;

  template <class Norm>
  static double ball_radius(const Shape<double>& shape, const Norm& norm) {
    double most = 0;
    for (int i = 0; i < shape.vertices; ++i) {
      const double* p = shape.vertex + 3 * i;
      const double reach = norm(p[0], p[1], p[2]);
      if (reach > most) most = reach;
    }
    return most;
  }

  template <class S>
  static Vec3<S> support(const Shape<typename S::Real>& shape, const Vec3<S>&, const Vec3<S>& n) {
    S number;
    return support_vertex<S>(shape, n, number);
  }

  template <class S>
  static Vec3<S> face_normal(const Shape<typename S::Real>& shape, const Vec3<S>& n) {
    if (shape.faces == 0) return n;
    const S best = farthest_point(shape.face, int{MeshFace::numbers}, shape.of_normals, n);
    const auto entry = [&](int axis) {
      return simd::lookup(shape.face + MeshFace::normal + axis, best, int{MeshFace::numbers}, shape.faces);
    };
    return {entry(0), entry(1), entry(2)};
  }

  template <class S, class Visit>
  static void visit_faces(const PlacedShape<S>& placed, const Visit& visit) {
    const auto* face = placed.shape->face;
    for (int k = 0; k < placed.shape->faces; ++k, face += MeshFace::numbers) {
      visit(placed.X.R * spatial::all3<S>(face + MeshFace::normal), face[MeshFace::covered] > 0);
    }
  }

  /// The support vertices of four directions that lean from −n to all sides.
  template <class S>
  static void touch_plane(const Shape<typename S::Real>& shape,
                          const Vec3<S>& n,
                          Vec3<S>* point,
                          simd::Mask<S>* apart) {
    mesh_points(shape, n, point, apart);
  }

  /// The face whose normal is nearest to a direction.
  template <class S>
  static void facet(const PlacedShape<S>& placed, const Vec3<S>& normal, Facet<S>& F) {
    using Real = typename S::Real;
    const Shape<Real>& mesh = *placed.shape;
    const Vec3<S> n = transpose_times(placed.X.R, normal);
    const S tie =
        all<S>(sizeof(Real) == 8 ? Real(1e-9) : Real(1e-6));  // at an edge, rounding does not choose
    const S best = farthest_point(mesh.face, int{MeshFace::numbers}, mesh.of_normals, n, tie);
    for (int k = 0; k < facet_corners; ++k) {
      const S vertex =
          simd::lookup(mesh.face + MeshFace::corner + k, best, int{MeshFace::numbers}, mesh.faces);
      F.corner[k] = placed.X * vertex_of<S>(mesh, vertex);
      F.feature[k] = vertex;
      F.distinct[k] = simd::everywhere<S>();
      for (int j = 0; j < k; ++j) F.distinct[k] &= !(F.feature[j] == vertex);
    }
    const auto of_face = [&](MeshFace::Place place) {
      return simd::lookup(mesh.face + place, best, int{MeshFace::numbers}, mesh.faces);
    };
    const S count = of_face(MeshFace::count);
    F.first = of_face(MeshFace::first);
    F.count = select(count > all<S>(Real(facet_corners)), count, all<S>(0));
  }

  template <class Real>
  static bool has_fixed_points(const Field<Real>&) {
    return true;
  }

  template <class Real>
  static int field_points(const Field<Real>&, const Shape<Real>& shape) {
    return shape.vertices;
  }

  /// Its vertices.
  template <class S, class Visit>
  static void visit_field_points(const Field<typename S::Real>& field,
                                 const Shape<typename S::Real>& shape,
                                 const Pose<S>& X,
                                 const Visit& visit) {
    for (int i = 0; i < shape.vertices; ++i) {
      visit(i, field_at(field, X, spatial::all3<S>(shape.vertex + 3 * i)));
    }
  }
};

}  // namespace pysim::collision
