// Contacts of a mechanism as steps read them, the same for every pack of worlds.
#pragma once

#include "collision/pairs.hpp"
#include "constraints/coordinate_law.hpp"
#include "simd/parameter.hpp"

namespace pysim::stepping {

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

/// Size of a velocity: |v_i|, or the norm of some components.
struct Rate {
  int v, count;
};

/// Shapes of a body move by `length` [m] at most per unit of a rate.
template <class Real>
struct Lever {
  int rate;
  Real length;
};

/// A ball about the origin of a shape that holds the shape, on a body or fixed to the world.
template <class Real>
struct Ball {
  int body;
  Real centre[3];  ///< in the engine's frame of the body
  Real radius;
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

/// A pair with a ball and one whose index is no less.
struct BallPartner {
  int ball, pair;
};

/// Levers of a body: [first, root) of its joints, [root, end) of a root that moves freely.
struct Levers {
  int first, root, end;
};

template <class Real>
struct Contacts {
  int pairs, points, coordinates;
  int turning_points;  ///< with rolling or spinning friction
  int moving_pairs;    ///< pairs of two bodies
  const ContactPair<Real>* pair;
  const constraints::CoordinateLaw<Real>* coordinate;
  const tree::Passive<Real>* smooth;  ///< [nv] the joints' own forces without friction and stops
  const Real* diagonal;               ///< [nv] stiffness of the joints' springs, of plain coordinates
  const bool* single;                 ///< [bodies] a body that moves freely, alone in its tree
  bool bounded;                       ///< levers bound the motion of all shapes
  int rates, carriers;
  const Rate* rate;
  const int* carrier;                           ///< bodies with shapes of pairs
  const PairBounds<simd::Fixed<Real>>* bounds;  ///< [pairs]
  int own_pairs;                                ///< pairs of one tree
  int balls;
  const Ball<simd::Fixed<Real>>* ball;
  const Levers* levers;  ///< [carriers]
  const Lever<simd::Fixed<Real>>* lever;
  /// Of many pairs, null of few: partners of every ball, ascending, and pairs with planes.
  const BallPartner* partner;
  const int* first_partner;  ///< [balls + 1]
  const int* plane_pair;     ///< [plane_pairs]
  int plane_pairs;

  /// The pair that a contact point belongs to.
  int pair_of(int point) const {
    int low = 0;
    for (int high = pairs; high - low > 1;) {
      const int middle = (low + high) / 2;
      (pair[middle].first <= point ? low : high) = middle;
    }
    return low;
  }
};

/// Pairs of shapes more than which are found by sweep and prune.
constexpr int most_listed_pairs = 4096;

/// Numbers a world that a step leaves to the next one.
struct ContactMemory {
  /// As stepping::SolverState counts; and whether a point touches.
  enum Count : int { iterations, halved, worst, failed, touches };
  static constexpr int counts = 5;
  /// Of a point: deflection on the world's axes (3) [m], 1 where it slid, and its feature, 0 for none.
  static constexpr int per_point = 5, slid = 3, feature = 4;

  /// Of a point that resists turning: angular deflection on the world's axes [rad].
  static constexpr int per_turning = 3;

  int points, coordinates, turning_points;
  int speeds = 0;  ///< the tree's nv

  int numbers() const { return point(points); }
  int coordinate(int k) const { return counts + k; }
  int turning(int k) const { return coordinate(coordinates) + per_turning * k; }
  /// Of steps under error control: the next step [s], 0 for none yet; stages solved; and rates of velocities.
  int next_step() const { return turning(turning_points); }
  int stages() const { return next_step() + 1; }
  int rates() const { return next_step() + 2; }
  /// Points are last: a world that touches nothing reads and writes what is before them.
  int point(int k) const { return rates() + speeds + per_point * k; }
};

/// Places of the numbers of a world.
template <class Real>
ContactMemory memory_of(const Contacts<Real>& contacts, int speeds) {
  return {contacts.points, contacts.coordinates, contacts.turning_points, speeds};
}

/// Numbers of a contact point that a run reports, of the last step but for the impulse.
struct ContactReport {
  enum Place : int {
    force = 0,
    position = 3,
    penetration = 6,
    slip = 7,
    sticks = 8,
    impulse = 9,
    normal = 12,
    moment = 15  ///< of rolling and spinning friction, on body b
  };
  static constexpr int numbers = 18;
};

/// Residual of impulses at which Newton's method ends, relative to the largest impulse of a step.
constexpr double solver_tolerance = 1e-8;

/// What a call reads and writes beside q and v.
template <class Real>
struct ContactCall {
  Contacts<Real> contacts;
  int passes;
  Real tolerance = Real(solver_tolerance);
  Real accuracy, least_step;  ///< of steps under error control [m or rad], [s]; 0 for steps of fixed size
  Real* memory;               ///< (worlds, ContactMemory::numbers), in and out
  Real* report;  ///< (worlds, points, ContactReport::numbers); impulses of all the call's steps; may be null
  const Real* controls;          ///< (worlds, control_steps, nv) from the call's first step on; null for none
  std::ptrdiff_t control_steps;  ///< between the controls of two worlds
  const int* work;               ///< see ConvexRun; null for none
};

}  // namespace pysim::stepping
