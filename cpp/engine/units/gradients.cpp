// Products of the derivatives of convex steps, in double precision. A type of their own keeps functions of
// this unit, which include those of numbers on a tape, apart from those that make steps.
// clang-format off
#include "simd/reverse.hpp"  // before the kernels, which call its functions by their qualified names
// clang-format on
#include "engine/convex_gradients.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

struct GradientTag;

using PullConvexSteps = PullSteps<PulledConvexSteps>;

const GradientKernels convex_gradients = {
    &run<PullConvexSteps, simd::Pack<double, PYSIM_WIDTH, GradientTag>>,
    &pull_varied_packs<PullConvexSteps, simd::Pack<double, PYSIM_WIDTH, simd::Varied<GradientTag>>>};

}  // namespace pysim::engine::PYSIM_ISA
