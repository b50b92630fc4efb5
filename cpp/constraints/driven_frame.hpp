// Motions that time prescribes: of the frame M that takes the place of frame A in a driven loop, and the rows
// whose residual depends on time.
//
//     X_AM(t)      V_AM = (Rᵀ ṗ, (Rᵀ Ṙ)^∨)      A_AM = dV_AM/dt        in M
//
// A loop's program maps t to these 24 numbers. Rows follow from the motion of B relative to M, with
// U = X_BM V_AM:
//
//     X_MB = X_AM⁻¹ X_AB      V_MB = V_AB − U      A_MB = A_AB − X_BM A_AM + V_AB × U
#pragma once

#include "spatial/se3.hpp"
#include "tree/model_view.hpp"
#include "tree/program.hpp"
#include "tree/workspace.hpp"

namespace pysim::constraints {

using simd::all;
using spatial::Motion;
using spatial::Pose;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Time at which prescribed motions are evaluated [s], and its rate: 0 for virtual velocities.
template <class S>
struct Clock {
  S time = all<S>(0), rate = all<S>(1);
};

/// Frame M of a driven loop in frame A, its twist and its acceleration, in M.
template <class S>
struct DrivenFrame {
  Pose<S> X_AM;
  Motion<S> V, A;

  DrivenFrame(const ModelOf<S>& model, const tree::Loop& loop, const Clock<S>& clock, Workspace<S> w) {
    const auto& program = model.program[loop.program];
    S* const r = take<S>(w, program.registers);
    r[0] = clock.time;
    tree::load_constants(program, r + 1);
    tree::run(program, 0, program.end, r);
    const auto at = [&](int i) {
      return spatial::Vec3<S>{out(program, r, i), out(program, r, i + 1), out(program, r, i + 2)};
    };
    X_AM = {{at(0), at(3), at(6)}, at(9)};
    V = clock.rate * Motion<S>{at(12), at(15)};
    A = (clock.rate * clock.rate) * Motion<S>{at(18), at(21)};
  }

 private:
  template <class Program>
  static S out(const Program& program, const S* r, int i) {
    return r[program.outputs[i]];
  }
};

/// Calls f(first row, number of rows, place of their work) for every driven loop and prescribed coordinate.
template <class S, class F>
void visit_motions(const ModelOf<S>& model, F f) {
  if (!model.timed) return;
  for (int k = 0; k < model.loops; ++k) {
    const tree::Loop& loop = model.loop[k];
    if (loop.program >= 0) f(loop.row, loop.rows, loop.work);
  }
  for (int k = 0; k < model.couplings; ++k) {
    const auto& coupling = model.coupling[k];
    if (coupling.program >= 0 && coupling.inputs == 0) f(coupling.row, 1, coupling.work);
  }
}

}  // namespace pysim::constraints
