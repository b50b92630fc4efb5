// Convex steps of worlds in place, of equal length or under error control.
#pragma once

#include "stepping/convex/sdirk.hpp"

namespace pysim::stepping {

/// Equal steps; a world whose step fails keeps its last good state.
template <class S>
class ConvexSteps {
 public:
  static constexpr bool adapts = false, takes_spans = false;

  ConvexSteps(const System<S>& system,
              const ConvexRun<S>& run,
              const ContactState<S>& state,
              const ContactState<S>& trial)
      : system_(system), run_(run), state_(state), trial_(trial) {}

  Mask<S> make(Mask<S> wanted, S time, S h) {
    return convex_step(system_, run_, wanted, time, h, state_, trial_);
  }

  /// No acceleration is carried from step to step.
  void mark_jumps(Mask<S>) {}

  /// Worlds whose failed step has no solution that Newton's method finds.
  Mask<S> unsolved() const { return state_.memory[ContactMemory::failed] > all<S>(0); }

 protected:
  const System<S>& system_;
  const ConvexRun<S>& run_;
  const ContactState<S> state_, trial_;
};

/// Steps under error control through a span of `count` steps of length h, the longest.
template <class S>
class ControlledConvexSteps : public ConvexSteps<S> {
 public:
  static constexpr bool adapts = false, takes_spans = true;

  ControlledConvexSteps(const System<S>& system,
                        const ConvexRun<S>& run,
                        double accuracy,
                        double least,
                        const ContactState<S>& state,
                        const ContactState<S>& trial)
      : ConvexSteps<S>(system, run, state, trial), accuracy_(accuracy), least_(least) {}

  Mask<S> make(Mask<S> wanted, S time, S h, S count) {
    const AccuracyBounds<S> bounds = {accuracy_, h, least_};
    return advance_accurately(
        this->system_, this->run_, bounds, wanted, time, time + count * h, this->state_, this->trial_);
  }

 private:
  double accuracy_, least_;
};

}  // namespace pysim::stepping
