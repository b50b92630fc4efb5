// Memory of records of worlds, taken from the system.
#include "engine/record_memory.hpp"

#include <cstdlib>
#include <new>

namespace pysim::engine {

Allocate OwnedMemory::allocate() {
  return [this](const PartOfRecords& part) {
    const auto numbers = static_cast<std::size_t>(part.worlds * part.numbers);
    const std::size_t size = part.type == NumberType::float32 ? 4 : 8;
    blocks_.emplace_back(std::calloc(numbers + 1, size), &std::free);
    if (blocks_.back() == nullptr) throw std::bad_alloc();
    return blocks_.back().get();
  };
}

}  // namespace pysim::engine
