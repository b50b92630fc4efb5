// Contacts of a mechanism as steps read them, the same for every pack of worlds.
#pragma once

#include "collision/shapes.hpp"
#include "constraints/coordinate_law.hpp"

namespace pysim::stepping {

/// A shape on a body and a plane that is fixed to the world.
template <class Real>
struct ContactPair {
  int body;
  int first, points;  ///< its contact points among all
  collision::Shape<Real> shape;
  Real placement[12];  ///< of the shape in the engine's frame of the body
  Real radius;         ///< of a ball about the shape's origin that holds the shape [m]
  Real normal[3];      ///< of the plane, in the world, away from the solid side
  Real offset;         ///< normal · x on the plane [m]
  Real surface[3];     ///< velocity of the plane's surface, in the world [m/s]
  constraints::ContactLaw<Real> law;
};

template <class Real>
struct Contacts {
  int pairs, points, coordinates;
  const ContactPair<Real>* pair;
  const constraints::CoordinateLaw<Real>* coordinate;
  const tree::Passive<Real>* smooth;  ///< [nv] the joints' own forces without friction and stops
  const Real* diagonal;               ///< [nv] stiffness of the joints' springs, of plain coordinates
  const bool* single;                 ///< [bodies] a body that moves freely, alone in its tree
};

/// Numbers a world that a step leaves to the next one.
struct ContactMemory {
  enum Count : int { iterations, halved, worst, failed };  ///< as stepping::SolverState counts
  static constexpr int counts = 4;
  static constexpr int per_point = 4;  ///< deflection on the world's axes [m], 1 where it slid

  int points, coordinates;

  int numbers() const { return counts + per_point * points + coordinates; }
  int point(int k) const { return counts + per_point * k; }
  int coordinate(int k) const { return counts + per_point * points + k; }
};

/// Numbers of a contact point that a run reports, of the last step but for the impulse.
struct ContactReport {
  enum Place : int { force = 0, position = 3, penetration = 6, slip = 7, sticks = 8, impulse = 9 };
  static constexpr int numbers = 12;
};

/// What a call reads and writes beside q and v.
template <class Real>
struct ContactCall {
  Contacts<Real> contacts;
  int passes;
  Real* memory;  ///< (worlds, ContactMemory::numbers), in and out
  Real* report;  ///< (worlds, points, ContactReport::numbers); impulses of all the call's steps
};

}  // namespace pysim::stepping
