// Products of the derivatives of steps of schemes without contacts that are solved, in double precision; see
// gradients.cpp.
// clang-format off
#include "simd/reverse.hpp"  // before the kernels, which call its functions by their qualified names
#include "collision/separation_product.hpp"  // before the texts that call its functions
// clang-format on
#include "engine/scheme_gradients.hpp"

#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

struct SchemeGradientTag;

const GradientKernels scheme_gradients = {
    &run<PullSchemeSteps, simd::Pack<double, PYSIM_WIDTH, SchemeGradientTag>>,
    &pull_varied_packs<PullSchemeSteps, simd::Pack<double, PYSIM_WIDTH, simd::Varied<SchemeGradientTag>>>};

}  // namespace pysim::engine::PYSIM_ISA
