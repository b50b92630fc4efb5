"""`pysim learn scene.toml`: learns a policy for the `[environment]` of a scene."""

from __future__ import annotations

import math
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.cli import INTERRUPTED
from pysim.cli.messages import print_line, print_message
from pysim.cli.run import parse_overrides
from pysim.errors import PysimError, SimulationError

if TYPE_CHECKING:
    from pysim.cli.options import LearnOptions
    from pysim.environments.environment import Environment
    from pysim.environments.learn import Learner, Progress

EVERY = 10.0  # [s] between checkpoints
CLIPPED = 0.5  # share of the actions' numbers that may be beyond their range


def learn_scene(path: Path, options: LearnOptions) -> int:
    """Learn, and return the exit status."""
    output = options.output or Path(f"{path.stem}_policy.npz")
    checkpoint = output.with_suffix(".pt")
    if output.suffix != ".npz":
        raise PysimError(str(output), "is not the name of a policy; end it in .npz")
    if output.exists() and not (options.overwrite or options.resume):
        problem = "exists; --resume goes on learning it, --overwrite starts anew"
        raise PysimError(str(output), problem)
    if options.resume and not checkpoint.is_file():
        raise PysimError(str(checkpoint), "is missing, from which --resume goes on; start anew")
    environment = _environment(path, options)
    learner = _learner(environment, options)
    if options.resume:
        learner.load(checkpoint)
    try:
        _learn(learner, output, checkpoint, options)
    except KeyboardInterrupt:
        _write(learner, output, checkpoint)
        remedy = f"pysim learn {path} -o {output} --resume goes on"
        print_message("interrupted", f"{output} holds what was learned; {remedy}")
        return INTERRUPTED
    if not options.quiet:
        print_line(f"policy {output}; pysim {path} --policy {output} runs it")
    return 0


def _environment(path: Path, options: LearnOptions) -> Environment:
    """Return the worlds, in single precision unless the scene or --double demands double."""
    from pysim.environments.environment import Environment  # noqa: PLC0415, loads the engine

    make = partial(
        Environment,
        path,
        options.worlds,
        parse_overrides(options.overrides),
        threads=options.threads,
        seed=options.seed,
        allow_code=options.allow_code,
    )
    if options.double:
        return make()
    try:
        return make(single=True)
    except SimulationError as error:
        if error.where != "dtype":
            raise
        if not options.quiet:
            print_line(f"worlds in double precision: {error.problem.split(';')[0]}")
        return make()


def _learner(environment: Environment, options: LearnOptions) -> Learner:
    # The worlds and the network take turns: threads of the one that waits leave the processors to the other.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from pysim.environments.learn import Learner  # noqa: PLC0415, torch costs seconds

    return Learner(environment, seed=options.seed, threads=options.threads or os.cpu_count() or 1)


def _learn(learner: Learner, output: Path, checkpoint: Path, options: LearnOptions) -> None:
    a_turn = learner.settings.steps * len(learner.environment)
    left = max(0, math.ceil((options.steps - learner.steps) / a_turn))
    written = time.monotonic()
    first = learner.steps
    start = time.monotonic()
    warned = False
    for progress in learner.iterations(left):
        now = time.monotonic()
        if not options.quiet and (progress.iteration % 10 == 0 or progress.iteration == 1):
            speed = (progress.steps - first) / (now - start)
            print_line(_line(progress, speed, options.steps))
        if progress.clipped > CLIPPED and not warned:
            print_message("warning", clipped_text(learner.environment, progress.clipped))
            warned = True
        if now - written > EVERY:
            _write(learner, output, checkpoint)
            written = now
    _write(learner, output, checkpoint)


def clipped_text(environment: Environment, share: float) -> str:
    """Return a warning that a share of the actions' numbers is beyond their range."""
    lowest, highest = environment.action_range
    where = environment.where("action", "range")
    problem = f"{share:.0%} of the actions are beyond [{lowest:g}, {highest:g}] and are clipped"
    return f"{where}: {problem}; widen range, or raise environment.action.scale"


def _line(progress: Progress, speed: float, wanted: float) -> str:
    """Return what is said of an iteration."""
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


def _write(learner: Learner, output: Path, checkpoint: Path) -> None:
    """Write policy and checkpoint, each whole or not at all."""
    for write, path in ((learner.save, checkpoint), (learner.write_policy, output)):
        draft = path.with_name(f".{path.name}.draft{path.suffix}")
        write(draft)
        draft.replace(path)
