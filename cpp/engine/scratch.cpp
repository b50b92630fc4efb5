// Scratch memory by a key of the C library; large blocks are reserved address space.
#include "engine/scratch.hpp"

#include <new>
#include <pthread.h>
#include <sys/mman.h>

namespace pysim::engine {
namespace {

constexpr std::align_val_t alignment{64};

/// Blocks from this size on are address space that takes memory when it is first used: a bound for every
/// kernel of a tree of n coordinates grows with n², and kernels in O(n) use little of it.
constexpr std::size_t reserved_from = std::size_t{64} << 20;

/// Header of a block of scratch memory.
struct alignas(64) Block {
  std::size_t bytes;  ///< with this header
};

void* reserve(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void free_block(void* block) {
  if (block == nullptr) return;
  const std::size_t bytes = static_cast<Block*>(block)->bytes;
  if (bytes >= reserved_from) {
    munmap(block, bytes);
  } else {
    ::operator delete(block, alignment);
  }
}

pthread_key_t make_key() {
  pthread_key_t key;
  if (pthread_key_create(&key, free_block) != 0) throw std::bad_alloc();
  return key;
}

}  // namespace

void* scratch(std::size_t bytes) {
  static const pthread_key_t key = make_key();
  auto* block = static_cast<Block*>(pthread_getspecific(key));
  const std::size_t wanted = sizeof(Block) + bytes;
  if (block == nullptr || block->bytes < wanted) {
    free_block(block);
    pthread_setspecific(key, nullptr);  // of a key in use: allocates nothing
    block = new (wanted < reserved_from ? ::operator new(wanted, alignment) : reserve(wanted)) Block{wanted};
    if (pthread_setspecific(key, block) != 0) {
      free_block(block);
      throw std::bad_alloc();
    }
  }
  return block + 1;
}

}  // namespace pysim::engine
