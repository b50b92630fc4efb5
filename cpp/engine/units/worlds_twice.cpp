// Rollouts of worlds with one model each, in packs of two registers of doubles, unless CMake leaves them out
// (PYSIM_ONE_REGISTER).
#include "engine/units/unit.hpp"
#include "engine/worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

#if defined(PYSIM_ONE_REGISTER)
const WorldsKernel<double> worlds_twice = nullptr;
#else
const WorldsKernel<double> worlds_twice =
    &rollout_of_worlds<simd::Pack<double, 2 * PYSIM_WIDTH, simd::Varied<Tag>>>;
#endif

}  // namespace pysim::engine::PYSIM_ISA
