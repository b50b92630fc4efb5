// Saved states of instances behind the pointers of both versions of the standard.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fmu/instance.hpp"

namespace pysim::fmu {

using SavedState = std::vector<char>;

/// Saves an instance where `state` points, or in new memory if that is null.
inline void save(Instance& instance, void** state) {
  auto saved = std::make_unique<SavedState>(instance.save());
  if (*state == nullptr) {
    *state = saved.release();
  } else {
    *static_cast<SavedState*>(*state) = std::move(*saved);
  }
}

inline void restore(Instance& instance, const void* state) {
  const auto& saved = *static_cast<const SavedState*>(state);
  instance.load(saved.data(), saved.size());
}

inline void free_state(void** state) {
  if (state == nullptr) return;
  delete static_cast<SavedState*>(*state);
  *state = nullptr;
}

inline std::size_t size_of(const void* state) {
  return static_cast<const SavedState*>(state)->size();
}

template <class Byte>
void serialize(const void* state, Byte* bytes, std::size_t size) {
  const auto& saved = *static_cast<const SavedState*>(state);
  if (size < saved.size()) throw std::invalid_argument("the bytes of the state do not fit");
  std::memcpy(bytes, saved.data(), saved.size());
}

template <class Byte>
void* deserialize(const Byte* bytes, std::size_t size) {
  return new SavedState(bytes, bytes + size);
}

}  // namespace pysim::fmu
