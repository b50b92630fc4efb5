// Compiled with this instruction set's flags (see CMakeLists.txt). Include kernels.hpp and nothing
// else: any other inline function compiled here could end up being called on an older CPU.
#include "engine/kernels.hpp"

namespace pysim::engine {

extern const Kernels avx2_kernels;
const Kernels avx2_kernels = make_kernels<struct avx2, 4>("avx2");

}  // namespace pysim::engine
