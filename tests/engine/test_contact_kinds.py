"""A new kind of unknown of the convex problem takes two files: its own, and the list of the kinds.

The oracle is the compiler: the list gets one include, one member and one visit, and the problem, which knows no
kind, is instantiated with it.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "cpp"
COMPILER = shutil.which("g++") or shutil.which("clang++")
TETHER = """
#pragma once
#include "contact/kinds/kind.hpp"

namespace pysim::contact {

/// A damper on coordinate 0.
template <class S>
class TetherKind : public Kind<S> {
 public:
  using typename Kind<S>::Real;

  explicit TetherKind(const KindContext<S>& c) : h_(c.h), tolerance_(all<S>(c.tolerance)) {}

  Iterate<S> tether;

  Mask<S> touched() const { return simd::everywhere<S>(); }
  void start() { tether.now = tether.start, tether.gamma_hat = all<S>(0); }
  void evaluate() { gamma_ = -h_ * tether.now; }
  void load(const Iteration<S>& iteration, ContactMatrix<S>& matrix) {
    matrix.add(0, h_, iteration.from_free ? fma(h_, tether.now - tether.free, gamma_) : gamma_ - tether.gamma_hat);
  }
  void move(const Iteration<S>& iteration, const S* delta, bool aims) {
    tether.next = (iteration.from_free ? tether.free : tether.now) + delta[0];
    if (aims) tether.aimed = -h_ * tether.next;
  }
  void begin_search(Search<S>& search) const {
    search.add(tether.next - tether.now, tether.gamma_hat, tether.aimed, gamma_);
  }
  void add_slope_along(S alpha, S& sum) const {
    const S du = tether.next - tether.now;
    sum = fma(du, -h_ * fma(alpha, du, tether.now), sum);
  }
  void advance(const Advance<S>& mix) {
    tether.now = mix(tether.now, tether.next);
    tether.gamma_hat = mix(tether.gamma_hat, tether.aimed);
  }
  Mask<S> converged() const { return abs(gamma_ - tether.gamma_hat) <= tolerance_ * abs(tether.gamma_hat); }
  void note(NewtonIteration& last) const {
    const S work = (tether.now - tether.free) * tether.gamma_hat;
    this->add_cost(last, all<S>(Real(0.5)) * h_ * tether.now * tether.now, work);
  }

 private:
  const S h_, tolerance_;
  S gamma_;
};

}  // namespace pysim::contact
"""
UNIT = """
#include "contact/problem.hpp"

using S = pysim::simd::Pack<double, 1, struct Tag>;  // one world, which has statistics, too

pysim::simd::Mask<S> solve(pysim::contact::ConvexProblem<S>& problem, S* x, pysim::tree::Workspace<S> w) {
  S iterations = pysim::simd::all<S>(0);
  const auto everywhere = pysim::simd::everywhere<S>();
  return problem.solve(everywhere & problem.touched(), 2, x, x, iterations, w, [](const S*) { return true; });
}
"""


@pytest.mark.skipif(COMPILER is None, reason="needs a compiler")
def test_a_kind_is_added_by_its_file_and_a_line_in_the_list(tmp_path: Path) -> None:
    listed = (SOURCES / "contact" / "kinds.hpp").read_text("utf-8")
    for place, addition in (
        ('#include "contact/kinds/turning.hpp"', '#include "contact/kinds/tether.hpp"'),
        ("  BoundedKind<S> bounded;", "  TetherKind<S> tether;"),
        ("coordinates(c), bounded(c)", ", tether(c)"),
        ("visit(bounded)", ", visit(tether)"),
    ):
        assert listed.count(place) == 1 + (
            place == "visit(bounded)"
        )  # of lists that change and that do not
        listed = listed.replace(place, f"{place}\n{addition}")
    (tmp_path / "contact" / "kinds").mkdir(parents=True)
    (tmp_path / "contact" / "kinds.hpp").write_text(listed, "utf-8")
    (tmp_path / "contact" / "kinds" / "tether.hpp").write_text(TETHER, "utf-8")
    (tmp_path / "unit.cpp").write_text(UNIT, "utf-8")
    assert COMPILER is not None

    command = [
        COMPILER,
        "-std=c++17",
        "-fsyntax-only",
        "-Wno-psabi",
        f"-I{tmp_path}",
        f"-I{SOURCES}",
    ]
    compiled = subprocess.run(
        [*command, tmp_path / "unit.cpp"], capture_output=True, text=True, check=False
    )

    assert compiled.returncode == 0, compiled.stderr
