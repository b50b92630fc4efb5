// Thread pool: a queue of tasks, grown on demand and never destroyed.
#include "engine/threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/floating_point.hpp"
#include "tree/operating_system.hpp"

namespace pysim::engine {
namespace {

/// Threads that take tasks from a queue. Grown on demand, never shrunk.
class Pool {
 public:
  const long long owner = tree::process_id();

  void submit(std::function<void()> task, std::size_t wanted) {
    {
      const std::scoped_lock lock(mutex_);
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
      const DefaultFloatingPoint environment;
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
};

/// Deliberately never destroyed: its threads wait until the process ends. A forked child has none of them and
/// starts its own; no lock is taken here, because another thread may have held it when the process forked.
Pool& pool() {
  static std::atomic<Pool*> instance{nullptr};
  Pool* current = instance.load();
  while (current == nullptr || current->owner != tree::process_id()) {
    auto fresh = std::make_unique<Pool>();
    if (instance.compare_exchange_strong(current, fresh.get())) return *fresh.release();
  }
  return *current;
}

/// States that threads take in runs: a free thread takes the next run, so that neither worlds with more
/// steps than others nor a busy processor delays the rest.
class Runs {
 public:
  using Part = std::function<void(std::ptrdiff_t, std::ptrdiff_t)>;

  /// `part` is not called after `wait` has returned.
  Runs(std::ptrdiff_t count, std::ptrdiff_t length, const Part& part)
      : count_(count), length_(length), part_(part), left_((count + length - 1) / length) {}

  void take_all() {
    for (;;) {
      const std::ptrdiff_t begin = next_.fetch_add(length_);
      if (begin >= count_) return;
      std::exception_ptr caught;
      try {
        part_(begin, std::min(begin + length_, count_));
      } catch (...) {
        caught = std::current_exception();
      }
      const std::scoped_lock lock(mutex_);
      if (caught && !error_) error_ = caught;
      if (--left_ == 0) done_.notify_all();
    }
  }

  /// Waits until all are done; throws the first exception of a part.
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::ptrdiff_t count_, length_;
  const Part& part_;
  std::atomic<std::ptrdiff_t> next_{0};
  std::mutex mutex_;
  std::condition_variable done_;
  std::ptrdiff_t left_;
  std::exception_ptr error_;
};

constexpr std::ptrdiff_t runs_a_thread = 8;

}  // namespace

std::ptrdiff_t thread_count(int threads) {
  constexpr std::ptrdiff_t enough = 8;  // for every processor, whatever the requested number
  const std::ptrdiff_t processors = std::max(1u, std::thread::hardware_concurrency());
  return threads > 0 ? std::min<std::ptrdiff_t>(threads, enough * processors) : processors;
}

void parallel_for(std::ptrdiff_t count,
                  std::ptrdiff_t grain,
                  int threads,
                  const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& part) {
  const std::ptrdiff_t grains = (count + grain - 1) / grain;
  const std::ptrdiff_t takers = std::min(thread_count(threads), grains);
  if (takers <= 1) {
    part(0, count);
    return;
  }
  const std::ptrdiff_t pieces = takers * runs_a_thread;
  const auto runs = std::make_shared<Runs>(count, grain * ((grains + pieces - 1) / pieces), part);
  try {
    for (std::ptrdiff_t i = 1; i < takers; ++i) {
      // a thread that starts too late finds no run left
      pool().submit([runs] { runs->take_all(); }, static_cast<std::size_t>(takers - 1));
    }
  } catch (const std::exception&) {
    // no memory or no thread is left: the threads started so far share the work, and `part` must outlive them
  }
  runs->take_all();
  runs->wait();
}

}  // namespace pysim::engine
