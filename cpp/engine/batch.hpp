// Arrays of the caller: one row per state; packs of states are read from them and written to them.
#pragma once

#include <cstdint>

#include "constraints/couplings.hpp"
#include "contact/sensors.hpp"
#include "dynamics/frame.hpp"
#include "simd/load_rows.hpp"
#include "stepping/run_description.hpp"
#include "stepping/signals.hpp"
#include "stepping/solver_state.hpp"
#include "tree/coordinates.hpp"

namespace pysim::constraints {
struct PoseSearch;
}  // namespace pysim::constraints

namespace pysim::engine {

using simd::all;
using simd::gather;
using simd::scatter;
using spatial::Force;
using spatial::Pose;
using spatial::Vec3;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Schemes of fixed step, in the order of `integrator_names`.
enum class Integrator : int {
  semi_implicit,
  rk2,
  rk4,
  variational,
  variational4,
  implicit_midpoint,
  generalized_alpha
};
constexpr const char* integrator_names[] = {
    "semi_implicit", "rk2", "rk4", "variational", "variational4", "implicit_midpoint", "generalized_alpha"};

/// Numbers per world that a scheme carries from step to step. Variational schemes carry no momenta through
/// constraints, whose forces change them.
constexpr int solver_numbers(Integrator integrator, int nv, int rows) {
  const Integrator first = rows > 0 ? Integrator::implicit_midpoint : Integrator::variational;
  return integrator < first ? 0 : stepping::solver_numbers(nv);
}

/// Arguments of operations on constraints, and results besides `out`; null if an operation has none of them.
template <class Real>
struct ConstraintArrays {
  const Real* known_redundant;  ///< (states, rows) 1 for rows that depend on others, 0 for the rest
  Real* redundant;              ///< (states, rows) the same, as it is found
  Real* forces;                 ///< (states, rows) λ
  Real* bias;                   ///< (states, rows) J̇ v
  Real* rates;                  ///< (states, rows) ∂g/∂t, of prescribed motions
  Real* jacobian;               ///< (states, rows, nv)
  Real* wrenches;               ///< (states, rows, 6) of a unit λ on body b, in frame B
  Real* residual;               ///< (states) the largest |g| left
  Real* rank;                   ///< (states) of J
  Real* closed;                 ///< (states) 1 if every row is within its tolerance, 0 otherwise
};

/// Inputs and outputs of one call; every array is C-contiguous, row k belongs to state k. Arrays that an
/// algorithm does not use are null.
template <class Real>
struct Batch {
  std::ptrdiff_t states;
  const Real *q, *v;
  const Real* x;         ///< third argument: a, tau, dq or q1
  const Real* callback;  ///< (states, callback_numbers) of callback joints
  const Real* loop_q;    ///< (states, closure nq) initial values of the fit of the loops' joints
  const Real* f_ext;     ///< (states, bodies, 6) in the user's body frames
  Real* out;
  Real* out_v;       ///< the new velocity
  Real* out_loop_q;  ///< the new coordinates of the loops' joints
  ConstraintArrays<Real> constraint;
  Real* derivative[3];    ///< derivatives: with respect to q, v and the third argument
  bool passive;           ///< include the joints' passive forces
  bool forces;            ///< derivatives of the constraint forces instead of the accelerations
  int body;               ///< of a frame: the body that carries it, −1 the world
  const Real* placement;  ///< of a frame: its pose in the engine's body frame, as 12 numbers
  dynamics::Expressed expressed;
  bool classical;  ///< accelerations of points instead of spatial accelerations

  const stepping::Actuation* actuation;
  Integrator integrator;
  double spectral_radius;
  double time, step;
  const constraints::PoseSearch* search;
  Real* signals;      ///< (states, Signals::numbers), in and out; null where signals do not act
  const Real* times;  ///< (states) [s], of functions of states with times of their own
  bool first;         ///< nothing was accelerated before: sampled blocks read accelerations of 0
  std::uint64_t due;  ///< bit k: the sampled block k is due
  const tree::ContactForces* contact_forces;  ///< of the smooth law; null for none
  const stepping::Events* events;             ///< of functions of events
  const contact::MeasuredPoints* measured;    ///< whose reports are x
};

/// A pose as a 4×4 matrix, row-major.
template <class S>
PYSIM_INLINE void put_matrix(const Pose<S>& X, S* entry) {
  const Vec3<S>* const column[4] = {&X.R.x, &X.R.y, &X.R.z, &X.p};
  for (int j = 0; j < 4; ++j) {
    entry[j] = column[j]->x;
    entry[4 + j] = column[j]->y;
    entry[8 + j] = column[j]->z;
    entry[12 + j] = all<S>(j == 3 ? 1 : 0);
  }
}

/// W consecutive states of a batch: the unit of work of a kernel.
template <class S>
struct States {
  using Real = typename S::Real;

  const ModelOf<S>& model;
  const Batch<Real>& batch;
  std::ptrdiff_t first;
  Workspace<S> w;

  /// `count` numbers of each row, writable.
  S* load(const Real* rows, int count) {
    S* const packs = take<S>(w, count);
    simd::load_rows(rows + first * count, count, count, packs);
    return packs;
  }

  /// `count` numbers of each row. Those of a single state are read in place: a vector load of numbers that
  /// were just stored one by one has to wait until the stores have reached the cache.
  const S* read(const Real* rows, int count) {
    if constexpr (S::width == 1) return reinterpret_cast<const S*>(rows + first * count);
    return load(rows, count);
  }

  void save(const S* packs, Real* rows, int count) const {
    simd::store_rows(packs, count, rows + first * count, count);
  }

  /// `count` numbers of `out` from `begin` on, if a state's row has `row` numbers.
  void save_part(const S* packs, std::ptrdiff_t begin, std::ptrdiff_t count, std::ptrdiff_t row) const {
    simd::store_rows(packs, count, batch.out + first * row + begin, row);
  }

  void clear_part(std::ptrdiff_t begin, std::ptrdiff_t end, std::ptrdiff_t row) const {
    simd::clear_rows<S>(end - begin, batch.out + first * row + begin, row);
  }

  /// The user's q, followed by the numbers that Python computed.
  const S* reduced_q() { return model.callback_numbers > 0 ? copy_q() : read(batch.q, model.reduced_nq); }

  S* copy_q() {
    const int nq = model.reduced_nq, computed = model.callback_numbers;
    S* const q = take<S>(w, nq + computed);
    simd::load_rows(batch.q + first * nq, nq, nq, q);
    if (computed > 0) simd::load_rows(batch.callback + first * computed, computed, computed, q + nq);
    return q;
  }

  /// Coordinates of the loops' joints.
  S* loop_q() { return load(batch.loop_q, model.loop_nq()); }

  /// State of the signals; without numbers where they do not act.
  stepping::SignalState<S> signals() {
    stepping::SignalState<S> state;
    if (batch.signals == nullptr || model.signals == nullptr) return state;
    state.numbers = load(batch.signals, model.signals->numbers());
    state.rate = take<S>(w, model.signals->states);
    return state;
  }

  void save_signals(const S* numbers) const {
    if (numbers != nullptr) save(numbers, batch.signals, model.signals->numbers());
  }

  /// Time of each state, 0 by default.
  constraints::Clock<S> clock() const {
    if (batch.times == nullptr) return {all<S>(0), all<S>(1)};
    return {gather<S>(batch.times + first, 1), all<S>(1)};
  }

  const S* reduced_v() { return read(batch.v, model.reduced_nv); }
  S* copy_v() { return load(batch.v, model.reduced_nv); }
  const S* reduced_x() { return read(batch.x, model.reduced_nv); }
  const S* full_q() { return tree::full_q(model, reduced_q(), w); }
  const S* full_v() { return tree::full_v(model, reduced_v(), w); }

  /// v̇ in tree coordinates; null if the caller gave none.
  const S* full_a() {
    if (batch.x == nullptr) return nullptr;
    return tree::full_v(model, reduced_x(), w);
  }

  /// External wrenches in the engine's frames; null if the caller gave none.
  const Force<S>* f_ext() {
    if (batch.f_ext == nullptr) return nullptr;
    Force<S>* const wrench = take<Force<S>>(w, model.bodies);
    const int row = 6 * model.bodies;
    for (int b = 0; b < model.bodies; ++b) {
      const Real* numbers = batch.f_ext + first * row + 6 * b;
      const auto at = [&](int i) { return gather<S>(numbers + i, row); };
      wrench[b] = {{at(0), at(1), at(2)}, {at(3), at(4), at(5)}};
      if (!model.aligned) continue;
      const auto turn = spatial::all33<S>(model.constants[b].alignment);
      wrench[b] = {transpose_times(turn, wrench[b].f), transpose_times(turn, wrench[b].t)};
    }
    return wrench;
  }

  /// Generalised forces of the tree, on the user's coordinates, to `out`.
  void save_forces(const S* tau) { save(tree::reduced_forces(model, tau, w), batch.out, model.reduced_nv); }

  void save_twist(const spatial::Motion<S>& V) const {
    const S entry[6] = {V.v.x, V.v.y, V.v.z, V.w.x, V.w.y, V.w.z};
    save(entry, batch.out, 6);
  }

  void save_number(S x) const { save_number(x, batch.out); }
  void save_number(S x, Real* numbers) const { scatter(x, numbers + first, 1); }
};

}  // namespace pysim::engine
