// Steps of a pack of worlds by schemes without contacts that are solved, whose cotangents are taken back.
#pragma once

#include "engine/gradient_operations.hpp"
#include "stepping/generalized_alpha.hpp"
#include "stepping/implicit_midpoint.hpp"
#include "stepping/rattle.hpp"
#include "stepping/runge_kutta.hpp"
#include "stepping/scheme_product.hpp"
#include "stepping/semi_implicit.hpp"
#include "stepping/step_halving.hpp"

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
                    const PackOfWorlds<S>& pack,
                    const WorldLanes<S>& lanes,
                    Workspace<S>& w)
      : varied_(batch.varied),
        sensors_(batch.contacts.sensors),
        switches_(batch.bar.switches == nullptr ? nullptr : &batch.switches),
        model_(model),
        carried_(batch.carried),
        start_{lanes.q,
               lanes.v,
               pack.load(batch.call.worlds.scheme, carried_, w),
               lanes.loop_q,
               pack.load(batch.call.worlds.pivots, batch.call.worlds.sizes.pivots, w)},
        end_{take<S>(w, model.reduced_nq),
             take<S>(w, model.reduced_nv),
             take<S>(w, carried_),
             take<S>(w, model.loop_nq()),
             take<S>(w, batch.call.worlds.sizes.pivots)},
        system_{model, *batch.actuation, w, lanes.loop_q} {
    bool jumped[S::width];
    for (int k = 0; k < S::width; ++k) jumped[k] = batch.call.worlds.jumped[pack.world(k)] != 0;
    jumped_ = stepping::lanes_of<S>(jumped);
    system_.spectral_radius = batch.spectral_radius;
    system_.signals = lanes.signals;
    system_.workspace = w;
  }

  const S* end_q() const { return end_.q; }
  const S* end_v() const { return end_.v; }

  simd::Mask<S> make(const stepping::StepSegment<S>& segment, Workspace<S> w) {
    auto dependence = constraints::take_dependence<S>(model_.rows, w);
    stepping::System<S> system = system_.with_own_signals(w);
    system.workspace = w;
    system.dependence = &dependence;
    start_.each_part(
        model_, carried_, end_, [](const S* from, int count, S* to) { simd::copy_each<S>(from, count, to); });
    const auto made =
        stepping::make_step<Scheme>(system, jumped_, segment.time, segment.length, start_, end_);
    end_.each_part(model_, carried_, start_, [&](const S* from, int count, S* to) {
      simd::copy_where<S>(segment.worlds, from, count, to);
    });
    system_.keep_signals(segment.worlds, system);
    bool due[S::width];
    for (int k = 0; k < S::width; ++k) due[k] = segment.due_by_lane[k] != 0;
    jumped_ = stepping::lanes_of<S>(due) | (jumped_ & !segment.worlds);
    return made.good;
  }

  /// Runs the blocks that are due at the end of a segment, which was made.
  void run_blocks(const stepping::StepSegment<S>& segment,
                  const WorldLanes<S>& lanes,
                  const Workspace<S>& w) {
    const DueBlocks<S> blocks = {system_, lanes, sensors_, w};
    blocks(segment.end, segment.due, [&](int block) { return segment.is_due(block); });
  }

  template <class Use>
  void differentiate(const stepping::StepSegment<S>& segment, bool, Workspace<S> w, const Use& use) {
    const stepping::System<S> system = system_.with_own_signals(w);
    Product product(system, varied_, carried_, segment.length, w, sensors_, switches_);
    const auto good = product.make(segment, jumped_, start_, end_);
    use(product, good);
  }

  /// No step of these schemes is differentiated as a matrix.
  bool write_matrices(Product&, const StepMatrices&, simd::Mask<S>, bool) const { return false; }

 private:
  const tree::VariedNumbers* const varied_;
  const contact::SensorList* const sensors_;
  const stepping::SwitchSizes* const switches_;
  const ModelOf<S>& model_;
  const int carried_;
  const stepping::SchemeState<S> start_, end_;
  simd::Mask<S> jumped_;        ///< whose forces have changed since the last step
  stepping::System<S> system_;  ///< whose signals are those at the start
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
      case Integrator::implicit_midpoint:
        return PullSteps<ByImplicitMidpoint>::at<S>(at, contacts);
      case Integrator::generalized_alpha:
        return PullSteps<ByGeneralizedAlpha>::at<S>(at, contacts);
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
  template <class S>
  using ByImplicitMidpoint =
      PulledSchemeSteps<S, stepping::Halving<stepping::Rattle<stepping::ImplicitMidpoint>>>;
  template <class S>
  using ByGeneralizedAlpha = PulledSchemeSteps<S, stepping::Halving<stepping::GeneralizedAlpha>>;
};

}  // namespace pysim::engine
