// Rollouts of worlds with one model each, in packs of floats.
#include "engine/units/unit.hpp"
#include "engine/worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

const WorldsKernel<float> float_worlds =
    &rollout_of_worlds<simd::Pack<float, 2 * PYSIM_WIDTH, simd::Varied<Tag>>>;

}  // namespace pysim::engine::PYSIM_ISA
