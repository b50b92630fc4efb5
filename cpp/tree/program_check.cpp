// Registers, tables and jumps of a program, instruction by instruction.
#include "tree/program_check.hpp"

#include <algorithm>
#include <stdexcept>

namespace pysim::tree {
namespace {

/// Registers that an operation reads, of a, b and c.
int operands(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::atan2:
    case Op::pow:
    case Op::min:
    case Op::max:
    case Op::hypot:
    case Op::less:
    case Op::less_equal:
    case Op::equal:
      return 2;
    case Op::select:
    case Op::fma:
    case Op::fms:
    case Op::fnma:
    case Op::random:
      return 3;
    default:
      return 1;
  }
}

constexpr const char* no_register = "an instruction uses a register that does not exist";

/// What is wrong with the instruction at a place; null if nothing is.
const char* fault(const ProgramDescription& program, std::size_t place) {
  const Instruction& in = program.code[place];
  const std::ptrdiff_t registers = program.registers,
                       numbers = static_cast<std::ptrdiff_t>(program.tables.size()),
                       behind = static_cast<std::ptrdiff_t>(program.code.size() - place) - 1;
  const auto is_register = [registers](std::ptrdiff_t r) { return r >= 0 && r < registers; };
  const auto is_table = [numbers](std::ptrdiff_t first, std::ptrdiff_t count) {
    return first >= 0 && count >= 0 && first + count <= numbers;
  };
  const int read = operands(in.op);
  if (!is_register(in.out) || !is_register(in.a) || (read > 1 && !is_register(in.b)) ||
      (read > 2 && !is_register(in.c))) {
    return no_register;
  }
  switch (in.op) {
    case Op::sincos:
      return is_register(std::ptrdiff_t{in.out} + 1) ? nullptr : no_register;
    case Op::segment:
      return in.c >= 1 && is_table(in.b, in.c) ? nullptr : "a spline has knots beyond the tables";
    case Op::lookup:
      return in.c >= 1 && in.b >= 0 && in.b < numbers && in.rows == (numbers - 1 - in.b) / in.c + 1
                 ? nullptr
                 : "a look-up reads beyond the tables";
    case Op::dot:
      if (in.c > 0 && !is_register(std::ptrdiff_t{in.a} + in.c - 1)) return no_register;
      return is_table(in.b, in.c) ? nullptr : "a sum of products reads beyond the tables";
    case Op::solve:
      return is_register(std::ptrdiff_t{in.a} + 2) && is_register(in.b) &&
                     is_register(std::ptrdiff_t{in.b} + 1) && in.c >= 0 && in.c <= behind
                 ? nullptr
                 : no_register;
    default:
      return nullptr;
  }
}

}  // namespace

void check_program(const ProgramDescription& program,
                   std::size_t inputs,
                   std::size_t outputs,
                   const std::string& owner) {
  const auto fail = [&](const std::string& problem) { throw std::invalid_argument(owner + ": " + problem); };
  const std::size_t registers = program.registers < 0 ? 0 : static_cast<std::size_t>(program.registers);
  if (inputs + program.constants.size() > registers) {
    fail("a program has fewer registers than inputs and constants");
  }
  if (program.pose_end < 0 || static_cast<std::size_t>(program.pose_end) > program.code.size()) {
    fail("a program has a part that ends beyond its instructions");
  }
  for (std::size_t k = 0; k < program.code.size(); ++k) {
    if (const char* const problem = fault(program, k)) fail(problem);
  }
  const auto outside = [registers](int r) { return r < 0 || static_cast<std::size_t>(r) >= registers; };
  if (program.outputs.size() != outputs ||
      std::any_of(program.outputs.begin(), program.outputs.end(), outside)) {
    fail("a program has the wrong number of outputs for its coordinates");
  }
}

}  // namespace pysim::tree
