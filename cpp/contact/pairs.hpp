// Pairs of shapes that may touch: records that steps read, and a table of many pairs from which they are
// made.
//
// Of n shapes there are n²/2 pairs, and few kinds of them. The table has sixteen bytes a pair: two shapes,
// the kind, and the first contact point. Laws, planes and velocities of surfaces are those of its kind;
// bodies, balls and fields are those of its shapes. A step reads the pairs that are near each other, so it
// makes their records anew instead of reading two hundred bytes of each from memory.
#pragma once

#include "collision/field.hpp"
#include "collision/pairs.hpp"
#include "constraints/contact_law.hpp"
#include "simd/parameter.hpp"

namespace pysim::contact {

/// A shape of a pair, in the engine's frame of its body.
template <class Real>
struct PairShape {
  collision::Shape<Real> shape;
  Real placement[12];
  Real radius;  ///< of a ball about the shape's origin that holds the shape [m]
};

/// A shape of a pair at its pose in some frame.
template <class S, class Real>
collision::PlacedShape<S> placed(const PairShape<Real>& own, const spatial::Pose<S>& X) {
  return {spatial::all3<S>(own.shape.size), X, &own.shape};
}

/// Two shapes that may touch: one of body b, and one of body a or a surface that is fixed to the world. Where
/// they are is the same in all worlds; their law may differ.
template <class Real>
struct ContactPair {
  int a, b;                      ///< bodies; a is −1 for the world. Forces and normals are those on b
  int first, points;             ///< its contact points among all
  int turning;                   ///< the first of them among those that resist turning; −1 if none do
  bool plane;                    ///< the surface of a is a plane
  bool swapped;                  ///< `kind` names the shape of b first, or the field is that of b
  collision::DistancePair kind;  ///< of two shapes
  const collision::Field<simd::Fixed<Real>>*
      field;  ///< in the frame of its shape, a ball that holds it; or null
  const PairShape<simd::Fixed<Real>>*shape_a, *shape_b;  ///< that of a is null for a plane
  simd::Fixed<Real> normal[3];   ///< of the plane, in the world, away from the solid side
  simd::Fixed<Real> offset;      ///< normal · x on the plane [m]
  simd::Fixed<Real> surface[3];  ///< velocity of the surface of a, on the axes of a [m/s]
  constraints::ContactLaw<Real> law;

  /// Of a pair with a field: the shape of the field, and that whose points touch it.
  const PairShape<simd::Fixed<Real>>& field_shape() const { return swapped ? *shape_b : *shape_a; }
  const PairShape<simd::Fixed<Real>>& touching_shape() const { return swapped ? *shape_a : *shape_b; }
};

/// Pairs by what bounds their gap: bodies, and balls that hold their shapes.
template <class Real>
struct PairBounds {
  int a, b;
  int ball_a, ball_b;  ///< −1 for a plane
  int root;            ///< body without parent that carries both and moves freely; −1 for none
  bool one_tree;       ///< both bodies move with the same root
  Real radii;          ///< sum
  Real least_reach;    ///< a fiftieth of the smaller ball's radius [m]; shapes are in reach at any speed
};

/// Many pairs, as indices of what they share.
struct PairTable {
  struct Pair {
    int a, b;  ///< shapes; a is −1 for a plane
    int kind;
    int point;  ///< the first contact point
  };
  struct Kind {
    double normal[3], offset;             ///< of a plane
    double surface[3];                    ///< velocity of the surface of a, on the axes of a [m/s]
    constraints::ContactLaw<double> law;  ///< without the lever
  };
  struct ShapeNumbers {
    int body, ball;
    int root;       ///< body without parent that carries the shape; −1 for the world
    int field;      ///< −1 for none
    bool flies;     ///< whether the root moves freely
    double radius;  ///< of a ball that holds the shape [m]
  };
  struct KindOfShapes {
    collision::DistancePair kind;
    bool swapped;
  };

  const Pair* pair;  ///< [pairs + 1], whose last one has the number of all points
  const Kind* kind;
  const int* turning;  ///< [pairs] see ContactPair; null if no law resists turning
  const PairShape<double>* shape;
  const ShapeNumbers* of_shape;
  const KindOfShapes* of_shapes;  ///< [kinds · kinds] of shapes a and b
  const collision::Field<double>* const* field;

  /// Field of a pair: that of the second shape, else that of the first; −1 for none.
  PYSIM_INLINE int field_of(int k) const {
    if (pair[k].a < 0) return -1;
    const int second = of_shape[pair[k].b].field;
    return second >= 0 ? second : of_shape[pair[k].a].field;
  }

  /// The later one of the balls of two shapes.
  PYSIM_INLINE int later_ball(int k) const {
    const int a = of_shape[pair[k].a].ball, b = of_shape[pair[k].b].ball;
    return a < b ? b : a;
  }

  PYSIM_INLINE const PairBounds<double>& read_bounds(int k, PairBounds<double>& to) const {
    const Pair& entry = pair[k];
    const ShapeNumbers& b = of_shape[entry.b];
    const double radius = b.radius;
    if (entry.a < 0) {
      to = {-1, b.body, -1, b.ball, -1, false, radius, least_share * radius};
      return to;
    }
    const ShapeNumbers& a = of_shape[entry.a];
    const double radius_a = a.radius, smaller = radius < radius_a ? radius : radius_a;
    const bool one_tree = a.body >= 0 && a.root == b.root;
    const int root = one_tree && b.flies ? b.root : -1;
    to = {a.body, b.body, a.ball, b.ball, root, one_tree, radius_a + radius, least_share * smaller};
    return to;
  }

 private:
  static constexpr double least_share = 0.02;
};

/// Makes the record of pair k. S keeps apart what different instruction sets make of it.
template <class S>
PYSIM_NOINLINE const ContactPair<double>& read_pair(const PairTable& table, int k, ContactPair<double>& to) {
  const PairTable::Pair& entry = table.pair[k];
  const PairTable::Kind& of = table.kind[entry.kind];
  const int field_index = table.field_of(k);
  to.plane = entry.a < 0;
  to.a = to.plane ? -1 : table.of_shape[entry.a].body;
  to.b = table.of_shape[entry.b].body;
  to.first = entry.point;
  to.points = table.pair[k + 1].point - entry.point;
  to.turning = table.turning == nullptr ? -1 : table.turning[k];
  to.shape_a = to.plane ? nullptr : table.shape + entry.a;
  to.shape_b = table.shape + entry.b;
  to.field = field_index < 0 ? nullptr : table.field[field_index];
  to.kind = {};
  to.swapped = false;
  if (to.field != nullptr) {
    to.swapped = table.of_shape[entry.b].field >= 0;
  } else if (!to.plane) {
    constexpr int kinds = collision::ShapeKinds::count;
    const auto& order = table.of_shapes[kinds * static_cast<int>(to.shape_a->shape.kind) +
                                        static_cast<int>(to.shape_b->shape.kind)];
    to.kind = order.kind;
    to.swapped = order.swapped;
  }
  for (int i = 0; i < 3; ++i) to.normal[i] = of.normal[i];
  to.offset = of.offset;
  for (int i = 0; i < 3; ++i) to.surface[i] = of.surface[i];
  to.law = of.law;
  const double radius = to.shape_b->radius;
  to.law.lever = to.plane || radius < to.shape_a->radius ? radius : to.shape_a->radius;
  return to;
}

}  // namespace pysim::contact
