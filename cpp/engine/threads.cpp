#include "engine/threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace pysim::engine {
namespace {

/// Threads that take tasks from a queue. Grown on demand, never shrunk.
class Pool {
 public:
  const pid_t owner = getpid();

  void submit(std::function<void()> task, std::size_t wanted) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      while (threads_.size() < wanted) threads_.emplace_back([this] { work(); });
      tasks_.push_back(std::move(task));
    }
    ready_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      ready_.wait(lock, [this] { return !tasks_.empty(); });
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
};

/// Deliberately never destroyed: its threads wait until the process ends. A forked child has none of them and
/// starts its own; no lock is taken here, for another thread may have held it when the process forked.
Pool& pool() {
  static std::atomic<Pool*> instance{nullptr};
  Pool* current = instance.load();
  while (current == nullptr || current->owner != getpid()) {
    auto fresh = std::make_unique<Pool>();
    if (instance.compare_exchange_strong(current, fresh.get())) return *fresh.release();
  }
  return *current;
}

/// Counts finished parts and keeps the first exception.
struct Progress {
  std::mutex mutex;
  std::condition_variable done;
  int left;
  std::exception_ptr error;

  explicit Progress(int parts) : left(parts) {}

  void run(const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& part,
           std::ptrdiff_t begin,
           std::ptrdiff_t end) {
    std::exception_ptr caught;
    try {
      part(begin, end);
    } catch (...) {
      caught = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (caught && !error) error = caught;
    if (--left == 0) done.notify_all();
  }
};

}  // namespace

void parallel_for(std::ptrdiff_t count,
                  std::ptrdiff_t grain,
                  int threads,
                  const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& part) {
  const std::ptrdiff_t grains = (count + grain - 1) / grain;
  const std::ptrdiff_t wanted = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  const std::ptrdiff_t parts = std::min(wanted, grains);
  if (parts <= 1) {
    part(0, count);
    return;
  }
  const auto bound = [&](std::ptrdiff_t i) { return std::min(count, grain * (grains * i / parts)); };
  Progress progress(static_cast<int>(parts));
  for (std::ptrdiff_t i = 1; i < parts; ++i) {
    const std::ptrdiff_t begin = bound(i), end = bound(i + 1);
    pool().submit([&progress, &part, begin, end] { progress.run(part, begin, end); },
                  static_cast<std::size_t>(parts - 1));
  }
  progress.run(part, 0, bound(1));
  std::unique_lock<std::mutex> lock(progress.mutex);
  progress.done.wait(lock, [&] { return progress.left == 0; });
  if (progress.error) std::rethrow_exception(progress.error);
}

}  // namespace pysim::engine
