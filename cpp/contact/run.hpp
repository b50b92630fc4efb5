// Contacts of a mechanism as steps read them, the same for every pack of worlds.
#pragma once

#include "constraints/coordinate_law.hpp"
#include "contact/iteration_log.hpp"
#include "contact/pairs.hpp"
#include "contact/sensors.hpp"

namespace pysim::contact {

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

/// Levers of a body: [first, root) of its joints, [root, end) of a root that moves freely.
struct Levers {
  int first, root, end;
};

/// Whether numbers are those of all worlds in double precision; others have no tables of pairs.
template <class Real>
constexpr bool is_double = false;
template <>
inline constexpr bool is_double<double> = true;

template <class Real>
struct Contacts {
  int pairs, points, coordinates;
  int turning_points;             ///< with rolling or spinning friction
  int moving_pairs;               ///< pairs of two bodies
  bool stiff;                     ///< loads of some pair are so stiff that floats do not carry them
  const ContactPair<Real>* pair;  ///< [pairs] null of many, whose records are made where they are read
  const constraints::CoordinateLaw<Real>* coordinate;
  const tree::Passive<Real>* smooth;  ///< [nv] the joints' own forces without friction and stops
  const Real* diagonal;               ///< [nv] stiffness of the joints' springs, of plain coordinates
  const bool* single;                 ///< [bodies] a body that moves freely, alone in its tree
  bool bounded;                       ///< levers bound the motion of all shapes
  int rates, carriers;
  const Rate* rate;
  const int* carrier;                           ///< bodies with shapes of pairs
  const PairBounds<simd::Fixed<Real>>* bounds;  ///< [pairs] null where `pair` is
  int tree_pairs;                               ///< pairs of one tree
  int balls;
  const Ball<simd::Fixed<Real>>* ball;
  const Levers* levers;  ///< [carriers]
  const Lever<simd::Fixed<Real>>* lever;
  /// Of many pairs, null of few: for every ball the pairs with balls whose index is no less, in the order of
  /// those, and pairs with planes.
  const int* partner;
  const int* first_partner;  ///< [balls + 1]
  const int* plane_pair;     ///< [plane_pairs]
  int plane_pairs;
  const PairTable* table;

  /// Pair k; `room` has room for its record.
  template <class S>
  PYSIM_INLINE const ContactPair<Real>& pair_at(int k, ContactPair<Real>& room) const {
    if constexpr (is_double<Real>) {
      if (PYSIM_UNLIKELY(pair == nullptr)) return read_pair<S>(*table, k, room);
    }
    return pair[k];
  }

  PYSIM_INLINE const PairBounds<simd::Fixed<Real>>& bounds_at(int k,
                                                              PairBounds<simd::Fixed<Real>>& room) const {
    if constexpr (is_double<Real>) {
      if (PYSIM_UNLIKELY(bounds == nullptr)) return table->read_bounds(k, room);
    }
    return bounds[k];
  }
};

/// Pairs of shapes more than which are found by sweep and prune, and have no records of their own.
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
  Real accuracy, least_step;    ///< of steps under error control [m or rad], [s]; 0 for steps of fixed size
  Real* report;                 ///< (states, points, ContactReport::numbers) of the smooth law
  const int* work;              ///< see ConvexRun; null for none
  const SensorList* sensors;    ///< of contacts; null for none
  IterationLog* log;            ///< of a world alone; null for none
  double* solutions = nullptr;  ///< (worlds, solution_numbers) of the last step; null for none
};

/// Numbers of a solution: Δ at its end and at the last renewal of radii, whether there was one, and whether
/// the step was solved in one part.
constexpr int solution_numbers(int nv) {
  return 2 * nv + 2;
}

}  // namespace pysim::contact
