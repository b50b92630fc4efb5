// An operation that overruns its workspace as its argument says: "array" writes behind an array, "inner"
// behind one that is free again, "memory" takes more than there is, "behind" writes behind all that there is,
// "many" takes many arrays and stays inside, "between" takes one where the bytes behind a free one were
// guarded.
#include <cstdio>
#include <string>

#include "engine/run.hpp"

namespace pysim::engine {

std::string mistake;

struct Overrun {
  template <class S>
  static void at(States<S> at) {
    S* const first = take<S>(at.w, 3);
    for (int i = 0; i < 3; ++i) first[i] = all<S>(i);
    if (mistake == "array") first[3] = all<S>(0);
    if (mistake == "inner") {
      Workspace<S> inner = at.w;
      S* const free_again = take<S>(inner, 2);
      free_again[2] = all<S>(0);
      take<S>(at.w, 1);
    }
    if (mistake == "memory") take<S>(at.w, std::ptrdiff_t{1} << 40);
    if (mistake == "behind") first[(std::ptrdiff_t{1} << 36) / std::ptrdiff_t{sizeof(S)}] = first[0];
    for (int n = 1; mistake == "many" && n < 100; ++n) {
      Workspace<S> inner = at.w;
      int* const numbers = take<int>(inner, n);
      for (int i = 0; i < n; ++i) numbers[i] = i;
      take<S>(at.w, n)[n / 2] = first[2];
    }
    Workspace<S> outer = at.w;
    for (int n = 0; mistake == "between" && n < 2; ++n) {
      Workspace<S> inner = at.w;
      take<S>(inner, 3)[2] = first[2];
      take<S>(outer, 1)[0] = first[2];
    }
  }
};

}  // namespace pysim::engine

int main(int, char** argument) {
  using namespace pysim;
  using S = simd::Pack<double, 2, struct here>;
  engine::mistake = argument[1];
  const tree::ModelView<double> model = {};
  const engine::Batch<double> batch = {};
  engine::run<engine::Overrun, S>(model, batch, 0, 4, tree::workspace_memory());
  std::puts("done");
}
