// Check of programs before kernels run them: every register, table and jump that they name exists.
#pragma once

#include <string>

#include "tree/model.hpp"

namespace pysim::tree {

/// Throws std::invalid_argument if a program with these inputs before its constants has another number of
/// outputs, or an instruction that reads or writes beyond its registers or tables.
void check_program(const ProgramDescription& program,
                   std::size_t inputs,
                   std::size_t outputs,
                   const std::string& owner);

}  // namespace pysim::tree
