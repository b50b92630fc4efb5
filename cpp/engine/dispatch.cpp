// Dispatch of batches to the kernels of the instruction set in use.
#include "engine/dispatch.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "engine/floating_point.hpp"
#include "engine/isa_tables.hpp"
#include "engine/processor.hpp"
#include "engine/threads.hpp"
#include "engine/varied_readings.hpp"
#include "tree/model_copy.hpp"
#include "tree/workspace.hpp"

namespace pysim::engine {

namespace {

struct Candidate {
  Kernels kernels;
  bool supported;
};

/// Tables of an instruction set with W doubles per register.
#define PYSIM_KERNELS_OF(isa, W)                                                                        \
  Kernels {                                                                                             \
    #isa, {W, isa::maps.all_finite, isa::doubles, isa::one_double, isa::maps.spatial, isa::maps.pairs}, \
        {2 * W,                                                                                         \
         isa::maps.all_finite_floats,                                                                   \
         isa::floats,                                                                                   \
         isa::one_float,                                                                                \
         isa::maps.float_spatial,                                                                       \
         isa::maps.float_pairs},                                                                        \
        isa::maps.meshes                                                                                \
  }

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = {
#if defined(PYSIM_ISA_BASELINE)
      {PYSIM_KERNELS_OF(baseline, 2), runs_baseline()},
#endif
#if defined(PYSIM_ISA_AVX2)
      {PYSIM_KERNELS_OF(avx2, 4), runs_avx2()},
#endif
#if defined(PYSIM_ISA_AVX512)
      {PYSIM_KERNELS_OF(avx512, 8), runs_avx512()},
#endif
  };
  return all;
}

const Kernels& kernels_for(std::string_view isa) {
  const Kernels* chosen = nullptr;
  for (const auto& c : candidates()) {
    if (c.supported && (isa == "auto" || isa == c.kernels.isa)) chosen = &c.kernels;
  }
  if (chosen == nullptr) {
    std::string known = "auto";
    for (const auto& name : available_isas()) known += ", " + name;
    bool left_out = isa == "baseline" || (isa == "avx2" && runs_avx2());
    for (const auto& c : candidates()) left_out = left_out && isa != c.kernels.isa;
    const std::string problem =
        left_out ? "is not in this build; build it with -Ccmake.define.PYSIM_ISAS=all, or choose "
                 : "is not available on this CPU; choose ";
    throw std::invalid_argument("isa '" + std::string(isa) + "' " + problem + known);
  }
  return *chosen;
}

std::atomic<const Kernels*>& current() {
  static std::atomic<const Kernels*> table = [] {
    const char* wanted = std::getenv("PYSIM_ISA");
    return &kernels_for(wanted == nullptr || *wanted == '\0' ? "auto" : wanted);
  }();
  return table;
}

/// Splits a batch into runs of whole packs of `width` states and calls part(begin, end) for each, on threads.
template <class Real, class Part>
void split(const Batch<Real>& batch, int width, int threads, const Part& part) {
  const auto run = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    if constexpr (sizeof(Real) == 4) {
      const FlushDenormals flush;
      part(begin, end);
    } else {
      part(begin, end);
    }
  };
  if (threads == 1 || batch.states <= width) {
    run(0, batch.states);
  } else {
    parallel_for(batch.states, width, threads, run);
  }
}

}  // namespace

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const auto& c : candidates()) {
    if (c.supported) names.emplace_back(c.kernels.isa);
  }
  return names;
}

std::string missing_kernels() {
  if (!available_isas().empty()) return {};
  std::vector<std::string> built;
  for (const auto& c : candidates()) built.emplace_back(c.kernels.isa);
  return no_kernels(built, native_isa());
}

const Kernels& kernels() {
  return *current().load(std::memory_order_relaxed);
}

void use_isa(std::string_view isa) {
  current().store(&kernels_for(isa));
}

/// Runs the kernel on whole packs of [begin, end), then on the remaining states one at a time.
template <class Real>
void run_states(Kernel<Real> StateKernels<Real>::* kernel,
                const tree::ModelView<Real>& model,
                const Batch<Real>& batch,
                std::ptrdiff_t begin,
                std::ptrdiff_t end,
                void* scratch) {
  const auto& table = precision<Real>();
  const auto run = [&](Kernel<Real> part, int width) {
    const std::ptrdiff_t whole = end - (end - begin) % width;
    if (begin < whole) part(model, batch, begin, whole, scratch);
    begin = whole;
  };
  run(table.pack.*kernel, table.width);
  run(table.single.*kernel, 1);
}

/// Numbers of a copied model; some are those of a state.
class StateNumbers {
 public:
  explicit StateNumbers(const tree::VariedNumbers& varied)
      : varied_(varied), numbers_(static_cast<std::size_t>(varied.count)) {}

  void begin(const char*, int) {}

  void operator()(double& to, const double& from) {
    to = from;
    if (next_ < numbers_.size() && varied_.place[next_] == at_) numbers_[next_++] = &to;
    ++at_;
  }

  void set(std::ptrdiff_t state) const {
    for (std::size_t n = 0; n < next_; ++n) {
      *numbers_[n] = varied_.values[state * varied_.count + static_cast<std::ptrdiff_t>(n)];
    }
  }

 private:
  const tree::VariedNumbers& varied_;
  std::vector<double*> numbers_;
  std::size_t next_ = 0;
  std::ptrdiff_t at_ = 0;
};

VariedReadings varied_readings() {
  const std::string_view isa = kernels().isa;
#define PYSIM_READINGS(set) \
  if (isa == #set) return set::varied_readings;
  PYSIM_FOR_EACH_ISA(PYSIM_READINGS)
  return nullptr;
}

void run_varied_singles(Kernel<double> kernel,
                        tree::ModelView<double> view,
                        const Batch<double>& batch,
                        const tree::VariedNumbers& varied,
                        std::ptrdiff_t first,
                        std::ptrdiff_t end) {
  using Scratch = tree::Workspace<double>;
  constexpr std::ptrdiff_t line = 8;  // doubles, to which the kernel's arrays are aligned
  double* const begin = static_cast<double*>(tree::workspace_memory());
  Scratch w = {begin};
  StateNumbers numbers(varied);
  const auto own = tree::ModelCopy<double, double, StateNumbers>(w, numbers).of(view);
  double* const scratch = begin + (w.next - begin + line - 1) / line * line;
  for (std::ptrdiff_t k = first; k < end; ++k) {
    numbers.set(k);
    kernel(own, batch, k, k + 1, scratch);
  }
}

/// Runs the kernel on states [begin, end) with numbers of their own: readings of signals in packs, others one
/// at a time.
void run_varied_states(Kernel<double> StateKernels<double>::* kernel,
                       const tree::Model& model,
                       const Batch<double>& batch,
                       const tree::VariedNumbers& varied,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end) {
  const VariedReadings read = kernel == &StateKernels<double>::read_signals ? varied_readings() : nullptr;
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  view.joint_forces |= varied.joint_forces;
  const std::ptrdiff_t whole = read == nullptr ? begin : end - (end - begin) % precision<double>().width;
  if (begin < whole) read(view, batch, varied, begin, whole, tree::workspace_memory());
  if (whole < end) {
    run_varied_singles(precision<double>().single.*kernel, view, batch, varied, whole, end);
  }
}

void run_varied(Kernel<double> StateKernels<double>::* kernel,
                const tree::Model& model,
                const Batch<double>& batch,
                const tree::VariedNumbers& varied) {
  if (varied.count > 0) return run_varied_states(kernel, model, batch, varied, 0, batch.states);
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  run_states<double>(kernel, view, batch, 0, batch.states, tree::workspace_memory());
}

template <class Real>
void run_batch(Kernel<Real> StateKernels<Real>::* kernel,
               const tree::Model& model,
               const Batch<Real>& batch,
               int threads) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    if (model.varied().count > 0) {
      return split(batch, precision<Real>().width, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        run_varied_states(kernel, model, batch, model.varied(), begin, end);
      });
    }
  }
  auto view = model.view<Real>();
  view.contacts = batch.contact_forces;
  split(batch, precision<Real>().width, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    run_states(kernel, view, batch, begin, end, tree::workspace_memory());
  });
}

template void run_batch<double>(Kernel<double> StateKernels<double>::*,
                                const tree::Model&,
                                const Batch<double>&,
                                int);
template void run_batch<float>(Kernel<float> StateKernels<float>::*,
                               const tree::Model&,
                               const Batch<float>&,
                               int);

}  // namespace pysim::engine
