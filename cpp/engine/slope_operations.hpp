// Slopes of rates and outputs as an operation on states, with numbers that carry a slope.
#pragma once

#include "engine/batch.hpp"
#include "stepping/sampled_signals.hpp"

namespace pysim::engine {

/// A batch of states with a direction for each, of mechanisms without constraints. Results are slopes:
/// `out` (states, nv) of v̇, `out_v` (states, elements' states) of ẋ.
struct SlopeBatch : Batch<double> {
  const double *q_slope, *v_slope, *signal_slopes, *time_slopes;
  double* readings;  ///< (states, readings) of signals, but for those of contact sensors
  double* poses;     ///< (states, bodies, 4, 4)
  double* forces;    ///< (states, pairs of shapes, 3) on the second shape, on the world's axes
};

struct RateSlopes {
  template <class S>
  static void at(States<S> at) {
    const auto& batch = static_cast<const SlopeBatch&>(at.batch);
    const auto& model = at.model;
    const std::ptrdiff_t k = at.first;
    const int nq = model.reduced_nq, nv = model.reduced_nv, bodies = model.bodies;
    const S* const q = read(batch.q, batch.q_slope, k, nq, at.w);
    const S* const v = read(batch.v, batch.v_slope, k, nv, at.w);
    const S* const time = read(batch.times, batch.time_slopes, k, 1, at.w);
    stepping::System<S> system = {model, *batch.actuation, at.w, nullptr};
    const bool has_signals = model.signals != nullptr && batch.signals != nullptr;
    if (has_signals) {
      const int count = model.signals->numbers();
      system.signals.numbers = read(batch.signals, batch.signal_slopes, k, count, system.workspace);
      system.signals.rate = take<S>(system.workspace, model.signals->states);
      for (int i = 0; i < model.signals->states; ++i) system.signals.rate[i] = all<S>(0);
    }
    S *const a = take<S>(system.workspace, nv), *const tau = take<S>(system.workspace, nv);
    const spatial::Force<S>* const unloaded = nullptr;
    system.actuate(*time, q, v, tau, system.workspace);
    Workspace<S> scratch = system.workspace;
    constraints::acceleration(model, q, v, static_cast<const S*>(tau), unloaded, true, a, scratch);
    save(a, nv, batch.out + k * nv);
    if (has_signals) {
      const int states = model.signals->states, count = model.signals->reading_count;
      save(system.signals.rate, states, batch.out_v + k * states);
      S* const readings = take<S>(system.workspace, count);
      for (int i = 0; i < count; ++i) readings[i] = all<S>(0);
      stepping::read_signals<S>(
          model, *time, q, v, a, unloaded, system.signals.numbers, readings, system.workspace);
      save(readings, count, batch.readings + k * count);
    }
    auto* const body = take<elements::PlacedBody<S>>(system.workspace, bodies);
    auto* const columns = take<spatial::Motion<S>>(system.workspace, model.stored_columns);
    const S *const full_q = tree::full_q(model, q, system.workspace), *const full_v = tree::full_v(
                                                                          model, v, system.workspace);
    elements::place_bodies(model, full_q, full_v, body, columns);
    for (int b = 0; b < bodies; ++b) {
      Pose<S> X = body[b].X_WB;
      X.R = X.R * transpose(spatial::all33<S>(model.constants[b].alignment));
      S entry[16];
      put_matrix(X, entry);
      save(entry, 16, batch.poses + 16 * (k * bodies + b));
    }
    if (model.contacts == nullptr) return;
    auto& C = *take<elements::ContactWrench<S>>(system.workspace, 1);
    const int pairs = model.contacts->pairs;
    for (int n = 0; n < pairs; ++n) {
      S force[3] = {all<S>(0), all<S>(0), all<S>(0)};
      if (elements::evaluate_contact<S>(model, body, n, false, C)) {
        elements::put3(body[model.contacts->pair[n].b].X_WB.R * C.force().f, force);
      }
      save(force, 3, batch.forces + 3 * (k * pairs + n));
    }
  }

 private:
  template <class S>
  static S* read(const double* values, const double* slopes, std::ptrdiff_t k, int count, Workspace<S>& w) {
    S* const numbers = take<S>(w, count);
    for (int i = 0; i < count; ++i) {
      numbers[i] = S({values[k * count + i]}, {slopes[k * count + i]});
    }
    return numbers;
  }

  template <class S>
  static void save(const S* numbers, int count, double* slopes) {
    for (int i = 0; i < count; ++i) slopes[i] = numbers[i].slope.lanes;
  }
};

}  // namespace pysim::engine
