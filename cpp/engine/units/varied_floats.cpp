// Advance of worlds in single precision whose models differ in some numbers: convex steps, and schemes of
// fixed step without contacts.
#include "engine/contact_operations.hpp"
#include "engine/motion_operations.hpp"
#include "engine/units/unit.hpp"
#include "engine/varied_worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

using VariedFloats = simd::Pack<float, 2 * PYSIM_WIDTH, simd::Varied<Tag>>;

static Kernel<float> convex() {
  return one_float_world.convex;
}

static Kernel<float> smooth() {
  return one_float_world.smooth;
}

const FloatSteps varied_float_worlds = {&advance_varied_packs<AdvanceConvexWorlds, VariedFloats>,
                                        &advance_varied_packs<AdvanceWorlds, VariedFloats>};
const FloatSteps varied_float_world = {&advance_varied_singles<OneFloat, convex>,
                                       &advance_varied_singles<OneFloat, smooth>};

}  // namespace pysim::engine::PYSIM_ISA
