// Calls of the operating system, for what the standard library lacks; operating_system.cpp is the only unit
// that includes its headers.
#pragma once

#include <cstddef>

namespace pysim::tree {

/// Bytes of addresses that the process may use; 0 if they are not limited.
std::size_t address_limit();

/// Addresses of 2·bytes bytes, null if there are not so many. Memory of the first half is allocated when it
/// is first written, and is zero; access to the second half is a fault.
void* reserve_addresses(std::size_t bytes);

/// Frees what `reserve_addresses(bytes)` returned.
void free_addresses(void* memory, std::size_t bytes);

/// A pointer of each thread, null in a new one; `free` gets it when the thread ends.
///
/// A key of the C library instead of a thread_local variable: registering the destructor of one, and the
/// first access to one from a thread, end the process if no memory is left.
class ThreadPointer {
 public:
  explicit ThreadPointer(void (*free)(void*));  ///< throws std::bad_alloc

  void* get() const;

  /// Whether there was memory for it.
  bool set(void* pointer) const;

 private:
  unsigned long key_ = 0;
};

/// Number of this process; a fork's is another.
long long process_id();

/// Waits until the process ends.
[[noreturn]] void wait_forever();

}  // namespace pysim::tree
