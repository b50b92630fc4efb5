// Compiled with this instruction set's flags (see CMakeLists.txt). Include kernels.hpp and nothing
// else: any other inline function compiled here could end up being called on an older CPU.
#include "engine/kernels.hpp"

namespace pysim::engine {

extern const Kernels baseline_kernels;
const Kernels baseline_kernels = make_kernels<struct baseline, 2>("baseline");

}  // namespace pysim::engine
