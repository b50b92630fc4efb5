// Rollouts of worlds with one model each, in packs of doubles.
#include "engine/worlds.hpp"

#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

const WorldsKernel<double> worlds = &rollout_of_worlds<simd::Pack<double, PYSIM_WIDTH, simd::Varied<Tag>>>;

}  // namespace pysim::engine::PYSIM_ISA
