// Scratch memory of a thread, kept between calls and grown on demand.
//
// Found by a key of the C library instead of a thread_local variable: registering the destructor of one, and
// the first access to one from a thread, end the process if no memory is left.
#pragma once

#include <cstddef>

namespace pysim::engine {

/// At least `bytes` for the calling thread, aligned to 64; valid until its next call. Throws std::bad_alloc.
void* scratch(std::size_t bytes);

}  // namespace pysim::engine
