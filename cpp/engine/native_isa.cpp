// Program of the build: prints the widest instruction set of this processor.
#include <cstdio>

#include "engine/processor.hpp"

int main() {
  std::fputs(pysim::engine::native_isa(), stdout);
  return 0;
}
