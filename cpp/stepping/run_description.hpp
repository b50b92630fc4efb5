// Description of a run: prescribed forces, tolerances and events, the same for every pack of worlds.
#pragma once

#include "tree/model_view.hpp"

namespace pysim::stepping {

/// Prescribed generalised forces  τ(t) = offset + amplitude sin(frequency t + phase), on the user's
/// coordinates. Each array has nv numbers [N or N·m], [rad/s], [rad].
struct Actuation {
  const double* offset;
  const double* amplitude;
  const double* frequency;
  const double* phase;
};

/// Error tolerances of adaptive steps, one per coordinate of v.
struct Tolerances {
  const double* relative;
  const double* position;  ///< [m] or [rad]
  const double* velocity;  ///< [m/s] or [rad/s]
};

enum class EventKind : int { coordinate, plane, program, gap };

struct Event {
  EventKind kind;
  int direction;       ///< 1 rising, −1 falling, 0 both
  int index;           ///< coordinate of the user's q; body, −1 the world; program; or pair of shapes
  int point;           ///< gap: contact point of a shape with a plane, as PairGaps counts
  double position[3];  ///< plane: in the engine's frame of the body [m]
  double normal[3];    ///< plane: in the world
  double offset;       ///< [m] or [rad]
};

/// Gaps of pairs of shapes, behind a table as tree::ContactForces: kernels of adaptive steps are not compiled
/// with the geometry of contacts.
struct PairGaps {
  /// Gap of a point of a pair for X_AB (12, rotation and position); all are packs of the caller's number
  /// type.
  using Gap = void (*)(const void* contacts, int pair, int point, const void* pose, void* gap);

  const tree::ContactForces::Bodies* pair;
  const void* contacts;
  Gap pack, single;
};

struct Events {
  int count;
  const Event* event;
  const tree::ProgramView<double>* program;  ///< inputs: the user's q, then v; one output
  PairGaps gaps;                             ///< of events of that kind
};

/// How steps of adapted size are chosen, and what ends them.
struct AdaptiveSettings {
  Tolerances tolerances;
  Events events;
  double longest;  ///< step [s]
};

/// Whether a step of adapted size was taken over, and why not.
enum class StepOutcome : int {
  accepted,
  rejected,   ///< its error is too large
  passed,     ///< it contains the end of what was asked for
  event,      ///< it contains an event
  underflow,  ///< it became too short
  blurred     ///< the tolerances are finer than the numbers
};

}  // namespace pysim::stepping
