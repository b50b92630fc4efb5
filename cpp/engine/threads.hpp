// A pool of threads that is started once and waits between batches.
#pragma once

#include <cstddef>
#include <functional>

namespace pysim::engine {

/// How many threads are meant; 0: one a processor. There are never more than eight a processor.
std::ptrdiff_t thread_count(int threads);

/// Splits [0, count) into runs of whole multiples of `grain` (the last takes the rest) and calls
/// part(begin, end) for each, on at most `threads` threads at once (0: one a processor), the calling
/// one among them. Returns when all are done; an exception of a part is rethrown here.
void parallel_for(std::ptrdiff_t count,
                  std::ptrdiff_t grain,
                  int threads,
                  const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& part);

}  // namespace pysim::engine
