// Readings of signals at states whose models differ in some numbers, in packs.
#pragma once

#include "engine/batch.hpp"
#include "engine/isas.hpp"
#include "tree/model_view.hpp"

namespace pysim::engine {

/// Reads the signals of states [begin, end), a whole number of packs, each with numbers of its own.
using VariedReadings = void (*)(const tree::ModelView<double>& model,
                                const Batch<double>& batch,
                                const tree::VariedNumbers& varied,
                                std::ptrdiff_t begin,
                                std::ptrdiff_t end,
                                void* scratch);

}  // namespace pysim::engine

#define PYSIM_DECLARE_VARIED_READINGS(isa)     \
  namespace pysim::engine::isa {               \
  extern const VariedReadings varied_readings; \
  }

PYSIM_FOR_EACH_ISA(PYSIM_DECLARE_VARIED_READINGS)
