// Steps of fixed size of worlds in packs of two registers of doubles, unless CMake leaves them out
// (PYSIM_ONE_REGISTER).
#include "engine/contact_kernels.hpp"
#include "engine/motion_operations.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

#if defined(PYSIM_ONE_REGISTER)
const ContactKernel worlds_twice = nullptr;
#else
const ContactKernel worlds_twice = &run<AdvanceWorlds, TwoRegisters>;
#endif

}  // namespace pysim::engine::PYSIM_ISA
