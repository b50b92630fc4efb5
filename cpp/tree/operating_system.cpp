// Calls of POSIX and of Windows.
#include "tree/operating_system.hpp"

#include <new>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace pysim::tree {

#if defined(_WIN32)

namespace {

/// Reserved addresses of the calling thread: Windows has no memory that is allocated when it is first
/// written, so a handler of access faults allocates it, a block at a time.
struct Reserved {
  char *begin, *end;  ///< of the first half
};

thread_local Reserved reserved = {nullptr, nullptr};

LONG CALLBACK allocate_written(EXCEPTION_POINTERS* fault) {
  const EXCEPTION_RECORD& record = *fault->ExceptionRecord;
  if (record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION) return EXCEPTION_CONTINUE_SEARCH;
  char* const at = reinterpret_cast<char*>(record.ExceptionInformation[1]);
  if (at < reserved.begin || at >= reserved.end) return EXCEPTION_CONTINUE_SEARCH;
  constexpr std::size_t block = std::size_t{1} << 16;
  char* const first = reserved.begin + static_cast<std::size_t>(at - reserved.begin) / block * block;
  const bool allocated = VirtualAlloc(first, block, MEM_COMMIT, PAGE_READWRITE) != nullptr;
  return allocated ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

std::size_t address_limit() {
  return 0;
}

void* reserve_addresses(std::size_t bytes) {
  static void* const handler = AddVectoredExceptionHandler(1, allocate_written);
  if (handler == nullptr) return nullptr;
  void* const memory = VirtualAlloc(nullptr, 2 * bytes, MEM_RESERVE, PAGE_NOACCESS);
  if (memory != nullptr) reserved = {static_cast<char*>(memory), static_cast<char*>(memory) + bytes};
  return memory;
}

void free_addresses(void* memory, std::size_t) {
  VirtualFree(memory, 0, MEM_RELEASE);
}

ThreadPointer::ThreadPointer(void (*free)(void*)) {
  // both take one pointer, and x86-64 and Arm have one calling convention
  key_ = FlsAlloc(reinterpret_cast<PFLS_CALLBACK_FUNCTION>(free));
  if (key_ == FLS_OUT_OF_INDEXES) throw std::bad_alloc();
}

void* ThreadPointer::get() const {
  return FlsGetValue(key_);
}

bool ThreadPointer::set(void* pointer) const {
  return FlsSetValue(key_, pointer) != 0;
}

long long process_id() {
  return GetCurrentProcessId();
}

void wait_forever() {
  for (;;) Sleep(INFINITE);
}

#else

std::size_t address_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return static_cast<std::size_t>(limit.rlim_cur);
}

void* reserve_addresses(std::size_t bytes) {
#if defined(MAP_NORESERVE)
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
  void* const memory = ::mmap(nullptr, 2 * bytes, PROT_NONE, flags, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) return memory;
  free_addresses(memory, bytes);
  return nullptr;
}

void free_addresses(void* memory, std::size_t bytes) {
  ::munmap(memory, 2 * bytes);
}

ThreadPointer::ThreadPointer(void (*free)(void*)) {
  pthread_key_t key = 0;
  if (::pthread_key_create(&key, free) != 0) throw std::bad_alloc();
  key_ = key;
}

void* ThreadPointer::get() const {
  return ::pthread_getspecific(static_cast<pthread_key_t>(key_));
}

bool ThreadPointer::set(void* pointer) const {
  return ::pthread_setspecific(static_cast<pthread_key_t>(key_), pointer) == 0;
}

long long process_id() {
  return ::getpid();
}

void wait_forever() {
  for (;;) ::pause();
}

#endif

}  // namespace pysim::tree
