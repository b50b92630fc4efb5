// Events: functions of the state whose sign changes are located during a run.
//
//     coordinate   g = q_i − offset
//     plane        g = n · p_W(q) − offset         p a point of a body or of the world
//     program      g = result of a traced plugin for (q, v)
//     gap          g = distance of a contact point, or of two shapes
#pragma once

#include "stepping/system.hpp"
#include "tree/program.hpp"

namespace pysim::stepping {

template <class S>
S plane_distance(const System<S>& system, const Event& event, const S* reduced_q) {
  const auto& model = system.model;
  Workspace<S> w = system.workspace;
  const S* q = tree::full_q(model, reduced_q, w);
  auto* const columns = take<spatial::Motion<S>>(w, model.stored_columns);
  spatial::Vec3<S> p = spatial::all3<S>(event.position);
  for (int b = event.index; b >= 0; b = model.joint[b].parent) {
    p = tree::evaluate(model, b, q, columns) * p;
  }
  return dot(spatial::all3<S>(event.normal), p) - all<S>(event.offset);
}

/// Pose of a body in the world; b is −1 for the world.
template <class S>
spatial::Pose<S> body_pose(const tree::ModelOf<S>& model, int b, const S* q, spatial::Motion<S>* columns) {
  const S o = all<S>(0), e = all<S>(1);
  spatial::Pose<S> X = {{{e, o, o}, {o, e, o}, {o, o, e}}, {o, o, o}};
  for (; b >= 0; b = model.joint[b].parent) X = tree::evaluate(model, b, q, columns) * X;
  return X;
}

template <class S>
S gap_value(const System<S>& system, const PairGaps& gaps, const Event& event, const S* reduced_q) {
  const auto& model = system.model;
  Workspace<S> w = system.workspace;
  const S* q = tree::full_q(model, reduced_q, w);
  auto* const columns = take<spatial::Motion<S>>(w, model.stored_columns);
  const auto& own = gaps.pair[event.index];
  spatial::Pose<S> X = body_pose<S>(model, own.b, q, columns);
  if (own.a >= 0) X = inverse(body_pose<S>(model, own.a, q, columns)) * X;
  const auto run = S::width == 1 ? gaps.single : gaps.pack;
  S gap;
  run(gaps.contacts, event.index, event.point, &X, &gap);
  return gap;
}

template <class S>
S program_value(const System<S>& system, const tree::ProgramView<double>& program, const S* q, const S* v) {
  const int nq = system.model.reduced_nq, nv = system.model.reduced_nv;
  Workspace<S> w = system.workspace;
  S* const r = take<S>(w, program.registers);
  for (int i = 0; i < nq; ++i) r[i] = q[i];
  for (int i = 0; i < nv; ++i) r[nq + i] = v[i];
  tree::load_constants(program, r + nq + nv);
  tree::run(program, 0, program.end, r);
  return r[program.outputs[0]];
}

/// g of one event.
template <class S>
S event_value(const System<S>& system, const Events& events, const Event& event, const S* q, const S* v) {
  switch (event.kind) {
    case EventKind::coordinate:
      return q[event.index] - all<S>(event.offset);
    case EventKind::plane:
      return plane_distance(system, event, q);
    case EventKind::program:
      return program_value(system, events.program[event.index], q, v);
    case EventKind::gap:
      return gap_value(system, events.gaps, event, q);
  }
  PYSIM_UNREACHABLE();
}

/// −1, 0 or 1; 0 if g is NaN.
template <class S>
PYSIM_INLINE S sign_of(S g) {
  return select(g > all<S>(0), all<S>(1), select(g < all<S>(0), all<S>(-1), all<S>(0)));
}

}  // namespace pysim::stepping
