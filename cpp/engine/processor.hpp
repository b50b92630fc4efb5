// Instruction sets that this processor runs: the question of the build, which chooses one (native_isa.cpp),
// and of the engine, which loads only where it has kernels (dispatch.cpp).
#pragma once

#include <string>
#include <vector>

#include "simd/compiler.hpp"

namespace pysim::engine {

inline bool runs_baseline() {
  return true;
}

inline bool runs_avx2() {
  return PYSIM_PROCESSOR_HAS("avx2") && PYSIM_PROCESSOR_HAS("fma");
}

inline bool runs_avx512() {
  return PYSIM_PROCESSOR_HAS("avx512f") && PYSIM_PROCESSOR_HAS("avx512dq") &&
         PYSIM_PROCESSOR_HAS("avx512vl") && PYSIM_PROCESSOR_HAS("avx512bw");
}

/// The widest set.
inline const char* native_isa() {
  return runs_avx512() ? "avx512" : runs_avx2() ? "avx2" : "baseline";
}

/// Error of an engine with the sets `built` on a processor whose widest set is `native`.
inline std::string no_kernels(const std::vector<std::string>& built, const std::string& native) {
  std::string names;
  for (const auto& name : built) names += (names.empty() ? "" : ", ") + name;
  return "pysim._engine: built for " + names + ", but this processor runs " + native +
         " at most; install it again on this machine, pip install --force-reinstall --no-deps ., or build it "
         "for every processor with -Ccmake.define.PYSIM_ISAS=all";
}

}  // namespace pysim::engine
