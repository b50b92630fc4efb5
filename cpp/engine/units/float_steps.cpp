// Advance of worlds in single precision: convex steps, and schemes of fixed step without contacts.
#include "engine/contact_operations.hpp"
#include "engine/motion_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

const FloatWorlds float_stepped_worlds = {
    {&run<AdvanceConvexWorlds, Floats>, &run<AdvanceWorlds, Floats>},
    {&run<AdvanceConvexWorlds, OneFloat>, &run<AdvanceWorlds, OneFloat>}};

}  // namespace pysim::engine::PYSIM_ISA
