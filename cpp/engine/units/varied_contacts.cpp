// Convex steps of worlds whose models differ in some numbers.
#include "engine/contact_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"
#include "engine/varied_worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

static ContactKernel convex() {
  return contact_steps.single.advance_worlds;
}

const VariedKernels varied_contacts = {&advance_varied_packs<AdvanceConvexWorlds, VariedDoubles>,
                                       &advance_varied_singles<OneDouble, convex>};

}  // namespace pysim::engine::PYSIM_ISA
