// Rollouts: many steps of many worlds under forces of their own, with rows of their states.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/contact_model.hpp"

namespace pysim::engine {

/// Worlds that are rolled out, and how.
struct Rollout {
  std::vector<const tree::Model*>
      models;  ///< one for all worlds, or one for each; alike, see structure_difference
  std::vector<const ModelContacts*> contacts;  ///< of every model, under convex steps; none under others
  std::string integrator;
  double spectral_radius, step;  ///< [s]
  std::ptrdiff_t steps, every;   ///< steps from row to row
  int threads;

  bool is_convex() const { return !contacts.empty(); }
  bool has_one_model() const;
  std::ptrdiff_t rows() const { return 1 + steps / every; }
};

/// Requires models that the engine steps, and numbers of steps that make rows.
void check(const Rollout& rollout);

/// Arrays of a rollout, a row a world.
template <class Real>
struct RolloutArrays {
  const Real *q0, *v0, *controls;  ///< (worlds, steps, nv) or null
  Real *loop_q, *q, *v;            ///< in and out; (worlds, rows, nq), (worlds, rows, nv)
};

/// Rolls worlds out in pieces of about a twentieth of a second; `between` is called after each, and may
/// throw. The pieces change no bits of the result.
template <class Real>
void roll_out(const Rollout& rollout,
              std::ptrdiff_t worlds,
              const RolloutArrays<Real>& arrays,
              const std::function<void()>& between);

extern template void roll_out<double>(const Rollout&,
                                      std::ptrdiff_t,
                                      const RolloutArrays<double>&,
                                      const std::function<void()>&);
extern template void roll_out<float>(const Rollout&,
                                     std::ptrdiff_t,
                                     const RolloutArrays<float>&,
                                     const std::function<void()>&);

}  // namespace pysim::engine
