"""Plugin of pytest that runs the collected tests for every mutant, each in a process forked after the collection."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pysim import _engine
from tests.mutation.sources import KINDS, Site, sample_sites

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REACHED, EXEMPT = 1, 2
Notes = tuple[bool, float, list[int], list[int]]  # passed, seconds, mutants reached and exempt
MEMORY = 4 << 30  # bytes of a process
COUNT, SEED, LIMIT, JOBS, EVERY = map(int, os.environ["PYSIM_MUTANTS"].split())
REPORT = Path(os.environ["PYSIM_MUTANTS_REPORT"])


class Switch:
    """The engine's chosen mutant, and notes on which were reached."""

    def __init__(self, mutants: int) -> None:
        library = ctypes.CDLL(_engine.__file__)
        self.mutant = ctypes.c_int.in_dll(library, "pysim_mutant")
        self.notes = (ctypes.c_ubyte * mutants).in_dll(library, "pysim_reached")

    def clear(self) -> None:
        ctypes.memset(self.notes, 0, len(self.notes))


class Failures:
    """Whether a test has failed."""

    def __init__(self) -> None:
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed


def run(item: pytest.Item, following: pytest.Item | None, failures: Failures) -> bool:
    """Run a test; return whether it passed."""
    failures.failed = False
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return not failures.failed


def in_child(work: Callable[[], int]) -> int:
    """Fork, and run `work` in the child, which ends with the status that it returns."""
    child = os.fork()
    if child == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os._exit(work())
    return child


def record(
    items: Sequence[pytest.Item],
    chosen: Sequence[int],
    part: Path,
    switch: Switch,
    failures: Failures,
) -> int:
    """Write down which mutants the chosen tests reach, and how long each takes."""
    found = {}
    for k, after in zip(chosen, [*chosen[1:], None], strict=True):
        switch.clear()
        begin = time.process_time()
        passed = run(items[k], None if after is None else items[after], failures)
        notes = bytes(switch.notes)
        reached = [m for m, note in enumerate(notes) if note & REACHED]
        exempt = [m for m, note in enumerate(notes) if note == EXEMPT]
        found[k] = passed, time.process_time() - begin, reached, exempt
    part.write_text(json.dumps(found), "utf-8")
    return 0


def recorded(items: Sequence[pytest.Item], switch: Switch, failures: Failures) -> dict[int, Notes]:
    """Return what `record` has found, in processes that share the files of tests."""
    notes_of: dict[int, Notes] = {}
    parts = [REPORT.with_suffix(f".{k}.json") for k in range(JOBS)]
    if not all(part.exists() for part in parts):
        paths = sorted({item.path for item in items})
        for k, part in enumerate(parts):
            own = set(paths[k::JOBS])
            chosen = [n for n, item in enumerate(items) if item.path in own]
            in_child(lambda c=chosen, p=part: record(items, c, p, switch, failures))  # type: ignore[misc]
        for _ in parts:
            os.wait()
    for part in parts:
        notes_of |= {int(k): notes for k, notes in json.loads(part.read_text("utf-8")).items()}
    return notes_of


def order(tests: list[tuple[float, int]], items: Sequence[pytest.Item]) -> list[int]:
    """Return tests in turn from every file, the fastest first, as many as the time limit allows."""
    files = defaultdict(list)
    for seconds, k in sorted(tests):
        files[items[k].path].append((seconds, k))
    turns = sorted(
        (turn, seconds, k) for tests in files.values() for turn, (seconds, k) in enumerate(tests)
    )
    chosen: list[int] = []
    total = 0.0
    for _, seconds, k in turns:
        total += seconds
        if total > LIMIT and chosen:
            break
        chosen.append(k)
    return chosen


def attack(
    mutant: int, tests: list[tuple[float, pytest.Item]], switch: Switch, failures: Failures
) -> int:
    """Run tests with a mutant until one fails; 1 if one has. A test that hangs is ended by a signal."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    switch.mutant.value = mutant
    following = [*(item for _, item in tests[1:]), None]
    for (seconds, item), after in zip(tests, following, strict=True):
        signal.setitimer(signal.ITIMER_PROF, 5 + 10 * seconds)
        if not run(item, after, failures):
            return 1
    return 0


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    sites = sample_sites(COUNT * 4 // 3, SEED)
    switch, failures = Switch(len(sites)), Failures()
    session.config.pluginmanager.register(failures)
    items = session.items[::EVERY]
    notes_of = recorded(items, switch, failures)
    exempt = {mutant for _, _, _, mutants in notes_of.values() for mutant in mutants}
    reached: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for k, (passed, seconds, mutants, _) in notes_of.items():
        for mutant in mutants if passed else []:
            reached[mutant].append((seconds, k))

    wanted = [k for k in range(len(sites)) if k in reached or k not in exempt][:COUNT]
    killed: dict[int, bool] = {k: False for k in wanted if k not in reached}
    running: dict[int, int] = {}

    def wait_below(most: int) -> None:
        while len(running) >= most:
            child, status = os.wait()
            killed[running.pop(child)] = status != 0

    for own in (k for k in wanted if k in reached):
        wait_below(JOBS)
        tests = [(float(notes_of[k][1]), items[k]) for k in order(reached[own], items)]
        running[in_child(lambda m=own, t=tests: attack(m, t, switch, failures))] = own  # type: ignore[misc]
    wait_below(1)
    report(sites, killed, reached)
    return True


def report(
    sites: list[Site], killed: dict[int, bool], reached: dict[int, list[tuple[float, int]]]
) -> None:
    """Write the score, in total and by kind, and the mutants that survived."""
    lines = [f"{sum(killed.values())} of {len(killed)} mutants killed"]
    for kind in KINDS:
        of_kind = [dead for k, dead in killed.items() if sites[k].kind == kind]
        lines.append(f"{kind:12} {sum(of_kind):4} of {len(of_kind)}")
    for k in sorted(k for k, dead in killed.items() if not dead):
        site = sites[k]
        by = f"{len(reached[k])} tests" if k in reached else "not reached"
        lines.append(f"{k:4} {site.kind:10} {site.file}:{site.line}: {site.text}  ({by})")
    text = "\n".join(lines)
    REPORT.write_text(text + "\n", "utf-8")
    print(f"\n{text}")  # noqa: T201
