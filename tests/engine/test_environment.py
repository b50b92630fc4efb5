"""Rounding modes that other libraries set, and memory that runs out. Oracle: results in the default environment."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from pysim.worlds.loading import compile_model
from tests.algorithms.algorithm_calls import EVERY, random_states
from tests.oracles.mechanisms import random_tree

FE_UPWARD = 0x800
libm = ctypes.CDLL("libm.so.6")


@pytest.fixture
def upward():
    """Rounding towards +inf, as a library of interval arithmetic leaves it."""
    before = libm.fegetround()

    def set_upward():
        assert libm.fesetround(FE_UPWARD) == 0

    yield set_upward
    libm.fesetround(before)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["aba", "rnea", "crba", "forward_kinematics", "coriolis_matrix"])
def test_a_rounding_mode_set_elsewhere_changes_no_bit(name, dtype, threads, rng, upward):
    assert name in EVERY
    model = compile_model(random_tree(rng))
    s = random_states(model, rng, 70).astype(dtype)
    call = {
        "aba": lambda: EVERY["aba"](model, s, threads=threads),
        "rnea": lambda: EVERY["rnea"](model, s, threads=threads),
        "crba": lambda: EVERY["crba"](model, s, threads=threads),
        "forward_kinematics": lambda: EVERY["forward_kinematics"](model, s, threads=threads),
        "coriolis_matrix": lambda: EVERY["coriolis_matrix"](model, s, threads=threads),
    }[name]
    expected = np.asarray(call())
    upward()
    found = np.asarray(call())
    assert libm.fegetround() == FE_UPWARD  # the caller's own mode comes back
    libm.fesetround(0)
    np.testing.assert_array_equal(found, expected)


FAILING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static _Atomic long left = -1;  /* allocations until one fails; none while negative */

void fail_after(long n) { left = n; }

static int fails(void) {
  if (left < 0 || left-- != 0) return 0;
  errno = ENOMEM;  /* as the C library sets it, and asserts where it makes a thread */
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void* malloc(size_t n) { return fails() ? NULL : REAL(malloc)(n); }
void* realloc(void* p, size_t n) { return fails() ? NULL : REAL(realloc)(p, n); }
void* aligned_alloc(size_t a, size_t n) { return fails() ? NULL : REAL(aligned_alloc)(a, n); }
int posix_memalign(void** p, size_t a, size_t n) {
  return fails() ? ENOMEM : REAL(posix_memalign)(p, a, n);
}
extern void* __libc_calloc(size_t, size_t);
void* calloc(size_t k, size_t n) { return fails() ? NULL : __libc_calloc(k, n); }
"""
CALLS = """
import ctypes, sys, threading
import numpy as np
import pysim

fail_after = ctypes.CDLL(sys.argv[1]).fail_after
fail_after.argtypes = [ctypes.c_long]
model = pysim.load_model("scenes/double_pendulum.toml")
q = np.random.default_rng(0).normal(size=(2000, model.nq))
failed = 0

def call(n, compute, expected):
    global failed
    try:
        fail_after(n)
        found = compute()
        fail_after(-1)
        np.testing.assert_array_equal(found, expected)
    except MemoryError:
        fail_after(-1)
        failed += 1

for compute in (
    lambda: pysim.aba(model, q, q, q),
    lambda: pysim.aba(model, q, q, q, threads=3),
    lambda: pysim.crba(model, q),
    lambda: pysim.joint_torque_regressor(model, q, q, q),
    lambda: pysim.link_length_derivatives(model, q, q, q, ["elbow"]),
):
    expected = compute()
    for n in range(12):
        thread = threading.Thread(target=call, args=(n, compute, expected))  # without scratch memory so far
        thread.start()
        thread.join()
print(failed)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_an_allocation_that_fails_ends_a_call_and_not_the_process(tmp_path):
    """The n-th allocation of a call fails, in threads that have not called the engine before."""
    source, library = tmp_path / "failing.c", tmp_path / "failing.so"
    source.write_text(FAILING, "utf-8")
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CALLS), str(library)],
        env={"LD_PRELOAD": str(library), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 0  # some did fail
