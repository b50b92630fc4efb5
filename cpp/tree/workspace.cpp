// Scratch memory: addresses reserved for every thread, and the checks of debug builds.
#include "tree/workspace.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

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
///
/// Found by a key of the C library instead of a thread_local variable: registering the destructor of one, and
/// the first access to one from a thread, end the process if no memory is left.
class alignas(64) Reservation {
 public:
  static Reservation* make() {
    for (std::size_t bytes = most_bytes(); bytes >= least_bytes; bytes /= 4) {
      if (void* const memory = reserve(bytes)) return new (memory) Reservation(bytes);
    }
    throw std::bad_alloc();
  }

  static void free(void* reservation) {
    ::munmap(reservation, 2 * static_cast<Reservation*>(reservation)->bytes_);
  }

  char* begin() { return reinterpret_cast<char*>(this + 1); }
  char* end() { return reinterpret_cast<char*>(this) + bytes_; }

 private:
  static constexpr std::size_t least_bytes = std::size_t{1} << 24, usual_bytes = std::size_t{1} << 36;

  explicit Reservation(std::size_t bytes) : bytes_(bytes) {}

  /// If the process may use only so many addresses (ulimit -v), all threads together take a quarter.
  static std::size_t most_bytes() {
    rlimit limit = {};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual_bytes;
    constexpr std::size_t page = 1 << 16;
    const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t share = static_cast<std::size_t>(limit.rlim_cur) / (8 * threads);
    return std::clamp(share / page * page, least_bytes, usual_bytes);
  }

  /// Null if there are not so many.
  static void* reserve(std::size_t bytes) {
#if defined(MAP_NORESERVE)
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
    void* const memory = ::mmap(nullptr, 2 * bytes, PROT_NONE, flags, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) return memory;
    ::munmap(memory, 2 * bytes);
    return nullptr;
  }

  std::size_t bytes_;
};

pthread_key_t make_key() {
  pthread_key_t key = 0;
  if (::pthread_key_create(&key, Reservation::free) != 0) throw std::bad_alloc();
  return key;
}

Reservation& reservation() {
  static const pthread_key_t key = make_key();
  auto* of_thread = static_cast<Reservation*>(::pthread_getspecific(key));
  if (of_thread == nullptr) {
    of_thread = Reservation::make();
    if (::pthread_setspecific(key, of_thread) != 0) {
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
