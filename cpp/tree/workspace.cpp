// Scratch memory: addresses reserved for every thread, and the checks of debug builds.
#include "tree/workspace.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tree/operating_system.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define PYSIM_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PYSIM_ADDRESS_SANITIZER
#endif
#endif
#if defined(PYSIM_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace pysim::tree {
namespace {

/// Head of the addresses of one thread; access to their second half is a fault.
class alignas(64) Reservation {
 public:
  static Reservation* make() {
    for (std::size_t bytes = most_bytes(); bytes >= least_bytes; bytes /= 4) {
      if (void* const memory = reserve_addresses(bytes)) return new (memory) Reservation(bytes);
    }
    throw std::bad_alloc();
  }

  static void free(void* reservation) {
    free_addresses(reservation, static_cast<Reservation*>(reservation)->bytes_);
  }

  char* begin() { return reinterpret_cast<char*>(this + 1); }
  char* end() { return reinterpret_cast<char*>(this) + bytes_; }

 private:
  static constexpr std::size_t least_bytes = std::size_t{1} << 24, usual_bytes = std::size_t{1} << 36;

  explicit Reservation(std::size_t bytes) : bytes_(bytes) {}

  /// If the process may use only so many addresses (ulimit -v), all threads together take a quarter.
  static std::size_t most_bytes() {
    const std::size_t limit = address_limit();
    if (limit == 0) return usual_bytes;
    constexpr std::size_t page = 1 << 16;
    const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
    return std::clamp(limit / (8 * threads) / page * page, least_bytes, usual_bytes);
  }

  std::size_t bytes_;
};

Reservation& reservation() {
  static const ThreadPointer pointer(Reservation::free);
  auto* of_thread = static_cast<Reservation*>(pointer.get());
  if (of_thread == nullptr) {
    of_thread = Reservation::make();
    if (!pointer.set(of_thread)) {
      Reservation::free(of_thread);
      throw std::bad_alloc();
    }
  }
  return *of_thread;
}

}  // namespace

void* workspace_memory() {
  return reservation().begin();
}

#ifndef NDEBUG

namespace {

struct Guard {
  const char* array;
  char* end;  ///< of the array, where the guard begins
};

struct Operation {
  std::string name = "no operation";
  std::vector<Guard> guards;  ///< in the order of their addresses
};

Operation& operation() {
  thread_local Operation of_thread;
  return of_thread;
}

constexpr char untouched = 0x5A;

void arm(char* guard) {
  std::memset(guard, untouched, guard_bytes);
#if defined(PYSIM_ADDRESS_SANITIZER)
  __asan_poison_memory_region(guard, guard_bytes);
#endif
}

/// Aborts where the array was overrun.
void disarm(const Guard& guard) {
#if defined(PYSIM_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(guard.end, guard_bytes);
#endif
  if (std::all_of(guard.end, guard.end + guard_bytes, [](char x) { return x == untouched; })) return;
  std::fprintf(stderr,
               "workspace of %s: an array of %td bytes is overrun; take as many numbers as are written\n",
               operation().name.c_str(),
               guard.end - guard.array);
  std::abort();
}

}  // namespace

void guard_array(const void* array, void* end) {
  Operation& running = operation();
  const Guard guard = {static_cast<const char*>(array), static_cast<char*>(end)};
  for (; !running.guards.empty() && running.guards.back().end + guard_bytes > guard.array;
       running.guards.pop_back()) {
    disarm(running.guards.back());
  }
  const std::ptrdiff_t left = reservation().end() - guard.array;
  if (guard.end < guard.array || guard.end - guard.array > left - guard_bytes) {
    std::fprintf(stderr,
                 "workspace of %s: an array of %td bytes is taken where %td are left; reserve more in "
                 "workspace.cpp\n",
                 running.name.c_str(),
                 guard.end - guard.array,
                 left);
    std::abort();
  }
  arm(guard.end);
  running.guards.push_back(guard);
}

void begin_operation(const char* name) {
  const std::string text = name, key = "Operation = ", scope = "pysim::engine::";
  const std::size_t at = text.find(key);
  const std::size_t first = at == std::string::npos ? 0 : at + key.size();
  const std::size_t named = text.compare(first, scope.size(), scope) == 0 ? first + scope.size() : first;
  operation().name = text.substr(named, text.find_first_of(";,]", named) - named);
}

void end_operation() {
  Operation& running = operation();
  for (const Guard& guard : running.guards) disarm(guard);
  running.guards.clear();
}

#endif

}  // namespace pysim::tree
