// Arguments of a search for configurations in which frames have given poses (constraints/pose_search.hpp).
#pragma once

namespace pysim::constraints {

/// A frame with a target.
struct SearchedFrame {
  int body;              ///< that carries the frame, −1 the world
  double placement[12];  ///< in the engine's body frame
  double weight[6];      ///< of e: position [1/m], rotation [1]
};

/// A coordinate with limits.
struct CoordinateLimit {
  int q, v;             ///< its places
  double lower, upper;  ///< [m or rad]
};

/// Arguments of a search; all worlds share them except the goals.
struct PoseSearch {
  const SearchedFrame* frame;
  int frames;
  const double* goals;  ///< (states, frames, 12): rotation column-major, then position
  const CoordinateLimit* limit;
  int limits;
  const double* scale;       ///< [nv] D
  const double* row_weight;  ///< [rows] c [1/m]; 0 for rows of velocities
  double tolerance;          ///< [m, rad]
  int iterations;
  double gain;           ///< a world stops if E does not decrease to this share of it in a few steps
  bool careful;          ///< only steps that decrease E
  double *cost, *error;  ///< (states) E, and the largest error of a frame or a row [m, rad]
};

}  // namespace pysim::constraints
