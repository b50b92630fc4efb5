// Advance of worlds in single precision whose models differ in some numbers.
#pragma once

#include "engine/contact_kernels.hpp"

#define PYSIM_DECLARE_FLOAT_VARIED_WORLDS(isa)  \
  namespace pysim::engine::isa {                \
  extern const FloatWorlds float_varied_worlds; \
  }

#if defined(PYSIM_ISA_BASELINE)
PYSIM_DECLARE_FLOAT_VARIED_WORLDS(baseline)
#endif
#if defined(PYSIM_ISA_AVX2)
PYSIM_DECLARE_FLOAT_VARIED_WORLDS(avx2)
#endif
#if defined(PYSIM_ISA_AVX512)
PYSIM_DECLARE_FLOAT_VARIED_WORLDS(avx512)
#endif
