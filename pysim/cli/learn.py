"""`pysim learn scene.toml`: learns a policy for the `[environment]` of a scene."""

from __future__ import annotations

import math
import os
import signal
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.cli.exit_status import INTERRUPTED
from pysim.cli.messages import print_line, print_message
from pysim.cli.run import parse_overrides
from pysim.errors import PysimError, SimulationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysim.cli.options import LearnOptions
    from pysim.environments.environment import Environment
    from pysim.environments.learn import Learner
    from pysim.environments.learn_by_stable_baselines import StableBaselinesLearner
    from pysim.environments.learning_settings import Progress
    from pysim.environments.parallel_learning import ParallelLearner

CHECKPOINT_INTERVAL = 10.0  # [s] between checkpoints
LEAST_WORLDS_OF_PROCESS = 64  # worlds of a process, unless --threads gives the number of processes
LEARNERS = {"rsl_rl": ".pt", "sb3": ".zip"}  # with the suffixes of their checkpoints
CLIPPED = 0.5  # share of the actions' numbers that may be beyond their range


def learn_scene(path: Path, options: LearnOptions) -> int:
    """Learn, and return the exit status."""
    output = options.output or Path(f"{path.stem}_policy.npz")
    if options.learner not in LEARNERS:
        hint = did_you_mean(options.learner, LEARNERS)
        raise PysimError("--learner", f"there is no {options.learner!r}{hint}")
    checkpoint = output.with_suffix(LEARNERS[options.learner])
    if output.suffix != ".npz":
        raise PysimError(str(output), "is not the name of a policy; end it in .npz")
    if not output.parent.is_dir():
        problem = f"the folder {str(output.parent)!r} does not exist; make it or choose another"
        raise PysimError(str(output), problem)
    if not 0 < options.steps < math.inf:
        raise PysimError("--steps", f"must be positive, got {options.steps:g}; give 1e6 or more")
    if options.threads < 0:
        raise PysimError("--threads", f"must be 0 or more, got {options.threads}; give 0 for all")
    if output.exists() and not (options.overwrite or options.resume):
        problem = "exists; --resume goes on learning it, --overwrite starts anew"
        raise PysimError(str(output), problem)
    if options.resume and not checkpoint.is_file():
        raise PysimError(
            str(checkpoint), "is missing, and --resume needs it; start anew without --resume"
        )
    if _learn(path, output, checkpoint, options):
        remedy = f"pysim learn {path} -o {output} --resume goes on"
        print_message("interrupted", f"{output} holds what was learned; {remedy}")
        return INTERRUPTED
    if not options.quiet:
        print_line(f"policy {output}; pysim {path} --policy {output} runs it")
    return 0


def _environment(
    path: Path, options: LearnOptions, n: int, *, numbers: Sequence[int] | None = None
) -> Environment:
    """Return n worlds, in single precision unless the scene or --double demands double."""
    from pysim.environments.environment import Environment  # noqa: PLC0415, loads the engine

    make = partial(
        Environment,
        path,
        n,
        parse_overrides(options.overrides),
        seed=options.seed,
        numbers=numbers,
        allow_code=options.allow_code,
    )
    if options.double:
        return make()
    try:
        return make(single=True)
    except SimulationError as error:
        if error.where != "dtype":
            raise
        if not options.quiet and numbers is None:
            print_line(f"worlds in double precision: {error.problem.split(';')[0]}")
        return make()


@contextmanager
def _learner(
    path: Path, options: LearnOptions
) -> Iterator[Learner | ParallelLearner | StableBaselinesLearner]:
    """Learn by one process for each thread, or by stable-baselines3 in this one."""
    from pysim.environments.learning_settings import Settings  # noqa: PLC0415, loads the engine

    settings = Settings(end=options.steps, settling=options.settle)
    if options.learner == "sb3":
        from pysim.environments.learn_by_stable_baselines import StableBaselinesLearner  # noqa: PLC0415, as below

        worlds = _environment(path, options, options.worlds)
        yield StableBaselinesLearner(worlds, settings, seed=options.seed)
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processes = options.threads or min(cores or 1, options.worlds // LEAST_WORLDS_OF_PROCESS)
    if processes > 1:
        from pysim.environments.parallel_learning import ParallelLearner  # noqa: PLC0415

        make = partial(_environment, path, options)
        with ParallelLearner(
            make, options.worlds, settings, processes=processes, seed=options.seed
        ) as learner:
            yield learner
        return
    from pysim.environments.learn import Learner  # noqa: PLC0415, torch costs seconds

    yield Learner(_environment(path, options, options.worlds), settings, seed=options.seed)


def _learn(path: Path, output: Path, checkpoint: Path, options: LearnOptions) -> bool:
    """Learn, write policy and checkpoint, and return whether Ctrl-C has ended it after an iteration."""
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, before)  # a second Ctrl-C does not wait

    with _learner(path, options) as learner:
        if options.resume:
            learner.load(checkpoint)
        written = start = time.monotonic()
        first = learner.steps
        warned = False
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            while learner.steps < options.steps and not interrupted:
                progress = next(learner.iterations(1))
                now = time.monotonic()
                if not options.quiet and (progress.iteration % 10 == 0 or progress.iteration == 1):
                    speed = (progress.steps - first) / (now - start)
                    print_line(_line(progress, speed, options.steps))
                if progress.clipped > CLIPPED and not warned:
                    print_message("warning", clipped_text(learner.environment, progress.clipped))
                    warned = True
                if now - written > CHECKPOINT_INTERVAL:
                    _write(learner, output, checkpoint)
                    written = now
            _write(learner, output, checkpoint)
        finally:
            signal.signal(signal.SIGINT, before)
    return interrupted


def clipped_text(environment: Environment, share: float) -> str:
    """Return a warning that a share of the actions' numbers is beyond their range."""
    lowest, highest = environment.action_range
    where = environment.where("action", "range")
    problem = f"{share:.0%} of the actions are beyond [{lowest:g}, {highest:g}] and are clipped"
    return f"{where}: {problem}; widen range, or raise environment.action.scale"


def _line(progress: Progress, speed: float, wanted: float) -> str:
    """Return the printed line of an iteration."""
    seconds = max(0.0, wanted - progress.steps) / speed
    ended = ""
    if not math.isnan(progress.episode_return):
        ended = (
            f", episodes return {progress.episode_return:.1f} in {progress.episode_length:.1f} s"
        )
    return (
        f"{progress.steps / 1e6:6.2f} million steps, reward {progress.reward:.3f}{ended}, "
        f"{speed:,.0f} steps/s, {seconds / 60:.1f} min left"
    )


def _write(
    learner: Learner | ParallelLearner | StableBaselinesLearner, output: Path, checkpoint: Path
) -> None:
    """Write policy and checkpoint, each whole or not at all."""
    for write, path in ((learner.save, checkpoint), (learner.write_policy, output)):
        draft = path.with_name(f".{path.name}.draft{path.suffix}")
        write(draft)
        draft.replace(path)
