// Steps of fixed size of worlds whose models differ in some numbers, in packs of two registers of doubles,
// unless CMake leaves them out (PYSIM_ONE_REGISTER).
#include "engine/motion_operations.hpp"
#include "engine/units/unit.hpp"
#include "engine/varied_worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

#if defined(PYSIM_ONE_REGISTER)
const ContactKernel varied_twice = nullptr;
#else
const ContactKernel varied_twice =
    &advance_varied_packs<AdvanceWorlds, simd::Pack<double, 2 * PYSIM_WIDTH, simd::Varied<Tag>>>;
#endif

}  // namespace pysim::engine::PYSIM_ISA
