// Contacts of bodies that sensors measure: sums over the points at which the bodies touch others.
//
//     F = Σ ±f    M = Σ (x − p) × (±f) ± m    N = Σ f·n         p is the origin of the sensor's frame
//
// The sign is that of the body in its pair of shapes.
#pragma once

#include "simd/pack.hpp"

namespace pysim::contact {

/// A sensor of contacts about the origin of a frame and on the axes of another; it refers to its owner.
struct SensorView {
  static constexpr int numbers = 8;  ///< 1 or 0 for touching, normal force, force (3), torque (3)

  const int* place;            ///< [numbers] among the numbers of the signals
  int body, axes_body;         ///< that carry the frames, −1 for the world
  const double *frame, *axes;  ///< in the user's frames of these bodies, 4×4 matrices by rows
  int shapes;
  const int* shape;    ///< [shapes] pairs of shapes that count, ascending
  const double* sign;  ///< [shapes] of their forces, −1 where they act on the first shape
};

struct SensorList {
  int count = 0;
  const SensorView* sensor = nullptr;

  /// Whether a number of the signals is one of theirs.
  PYSIM_INLINE bool has(int number) const {
    for (int k = 0; k < count; ++k) {
      for (int i = 0; i < SensorView::numbers; ++i) {
        if (sensor[k].place[i] == number) return true;
      }
    }
    return false;
  }
};

/// Points of contact whose reports sensors measure.
struct MeasuredPoints {
  int count;
  const int* shapes;  ///< [count] the pair of shapes of each
  SensorList sensors;
};

/// What a point of contact reports of a step, in world axes: the force on the second body, the moment of
/// rolling and spinning friction, the place and the normal.
template <class Vector>
struct PointReport {
  Vector force, moment, position, normal;
};

}  // namespace pysim::contact
