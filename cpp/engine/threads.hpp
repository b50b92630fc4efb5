// Thread pool that is started once and waits between batches.
#pragma once

#include <cstddef>
#include <functional>

namespace pysim::engine {

/// The effective number of threads; 0: one per processor. There are never more than eight per processor.
std::ptrdiff_t thread_count(int threads);

/// Splits [0, count) into runs of whole multiples of `grain` (the last takes the rest) and calls
/// part(begin, end) for each, on at most `threads` threads at once (0: one per processor), including the
/// calling thread. Returns when all are done; an exception of a part is rethrown here.
void parallel_for(std::ptrdiff_t count,
                  std::ptrdiff_t grain,
                  int threads,
                  const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& part);

}  // namespace pysim::engine
