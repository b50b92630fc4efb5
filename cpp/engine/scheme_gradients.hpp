// Steps of a pack of worlds by schemes without contacts that are solved, whose cotangents are taken back.
#pragma once

#include "engine/gradient_operations.hpp"
#include "stepping/runge_kutta.hpp"
#include "stepping/scheme_product.hpp"
#include "stepping/semi_implicit.hpp"

namespace pysim::engine {

/// As PullSteps has them.
template <class S, class Scheme>
class PulledSchemeSteps {
 public:
  using Product = stepping::SchemeStepProduct<S, Scheme>;

  PulledSchemeSteps(const GradientBatch& batch,
                    std::ptrdiff_t,
                    const ModelOf<S>& model,
                    const contact::Contacts<typename S::Parameter>&,
                    const PackOfWorlds<S>&,
                    const WorldLanes<S>& lanes,
                    Workspace<S>& w)
      : varied_(batch.varied),
        model_(model),
        q_(lanes.q),
        v_(lanes.v),
        end_q_(take<S>(w, model.reduced_nq)),
        end_v_(take<S>(w, model.reduced_nv)),
        held_{model, *batch.actuation, w, lanes.loop_q} {
    held_.signals = lanes.signals;
    held_.workspace = w;
  }

  const stepping::System<S>& system() const { return held_; }
  const S* end_q() const { return end_q_; }
  const S* end_v() const { return end_v_; }

  simd::Mask<S> make(const stepping::StepSegment<S>& segment, Workspace<S> w) {
    stepping::System<S> system = held_.with_own_signals(w);
    system.workspace = w;
    simd::copy_each<S>(static_cast<const S*>(q_), model_.reduced_nq, end_q_);
    simd::copy_each<S>(static_cast<const S*>(v_), model_.reduced_nv, end_v_);
    Scheme::template step<S>(system, segment.time, segment.length, end_q_, end_v_);
    simd::copy_where<S>(segment.worlds, end_q_, model_.reduced_nq, q_);
    simd::copy_where<S>(segment.worlds, end_v_, model_.reduced_nv, v_);
    held_.keep_signals(segment.worlds, system);
    return stepping::finite(model_, end_q(), end_v());
  }

  template <class Use>
  void differentiate(const stepping::StepSegment<S>& segment, bool, Workspace<S> w, const Use& use) {
    const stepping::System<S> system = held_.with_own_signals(w);
    Product product(system, varied_, segment.length, w);
    const auto good = product.make(segment, q_, v_, end_q_, end_v_);
    use(product, good);
  }

  /// No step of these schemes is differentiated as a matrix.
  bool write_matrices(Product&, const StepMatrices&, simd::Mask<S>, bool) const { return false; }

 private:
  const tree::VariedNumbers* const varied_;
  const ModelOf<S>& model_;
  S *const q_, *const v_, *const end_q_, *const end_v_;
  stepping::System<S> held_;  ///< whose signals are those at the start
};

/// Products of steps of the scheme of worlds.
struct PullSchemeSteps {
  template <class S>
  static void at(States<S> at) {
    PullSchemeSteps::at<S>(at, static_cast<const GradientBatch&>(at.batch).contacts.contacts);
  }

  template <class S>
  static void at(States<S> at, const contact::Contacts<typename S::Parameter>& contacts) {
    switch (at.batch.integrator) {
      case Integrator::rk2:
        return PullSteps<ByRk2>::at<S>(at, contacts);
      case Integrator::rk4:
        return PullSteps<ByRk4>::at<S>(at, contacts);
      default:
        return PullSteps<BySemiImplicit>::at<S>(at, contacts);
    }
  }

 private:
  template <class S>
  using BySemiImplicit = PulledSchemeSteps<S, stepping::SemiImplicit>;
  template <class S>
  using ByRk2 = PulledSchemeSteps<S, stepping::Rk2>;
  template <class S>
  using ByRk4 = PulledSchemeSteps<S, stepping::Rk4>;
};

}  // namespace pysim::engine
