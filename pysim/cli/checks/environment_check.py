"""Lines of `pysim check` about the `[environment]` of a scene: its sizes, and what random actions lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.cli.messages import print_columns, print_line
from pysim.environments.environment import Environment
from pysim.environments.trial import Trial, try_environment
from pysim.scene.doctor import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WORLDS, STEPS = 16, 100  # of the trial


def checked_environment(
    path: Path,
    overrides: Mapping[str, object],
    *,
    allow_code: bool,
    package_dirs: tuple[Path, ...],
) -> tuple[Environment, Trial]:
    """Return the environment of a scene, and a trial of it."""
    environment = Environment(
        path, WORLDS, overrides, allow_code=allow_code, package_dirs=package_dirs
    )
    return environment, try_environment(environment, STEPS)


def trial_findings(environment: Environment, trial: Trial) -> list[Finding]:
    """Return observations that random actions drive to the limit, and ends that hold as episodes begin."""
    findings, limit = [], environment.limit
    if not environment.reward_names:
        problem = "has no reward, so that nothing can be learned; add an [[environment.reward]]"
        findings.append(Finding("warning", environment.where(), problem))
    reached = np.maximum(np.abs(trial.lowest), np.abs(trial.highest)) >= limit
    for k, name in enumerate(environment.observed_names):
        if reached[environment.plan.columns(k)].any():
            problem = f"{name!r} reaches ±{limit:g} with random actions and is cut off there"
            remedy = "give it a smaller factor in environment.scales, or raise environment.limit"
            place = environment.where("observations", k)
            findings.append(Finding("warning", place, f"{problem}; {remedy}"))
    for k, name in enumerate(environment.end_names):
        if trial.at_once[k] > trial.ends[k] / 2:
            problem = f"{name!r} ends {trial.at_once[k]} of {trial.ends[k]} episodes in their first"
            remedy = "change below and above, or the start"
            place = environment.where("end", k)
            findings.append(Finding("warning", place, f"{problem} control step; {remedy}"))
    return findings


def environment_report(environment: Environment, trial: Trial) -> dict[str, Any]:
    """Return sizes, observations, rewards and ends as values of JSON."""
    return {
        "period": environment.period,
        "duration": environment.length * environment.period,
        "action_size": environment.action_size,
        "observation_size": environment.observation_size,
        "critic_size": environment.critic_size,
        "observations": [
            {
                "name": name,
                "size": len(environment.plan.columns(k)),
                "lowest": float(trial.lowest[environment.plan.columns(k)].min()),
                "highest": float(trial.highest[environment.plan.columns(k)].max()),
            }
            for k, name in enumerate(environment.observed_names)
        ],
        "rewards": [
            {
                "name": name,
                "mean": float(x.mean()),
                "lowest": float(x.min()),
                "highest": float(x.max()),
            }
            for name, x in zip(
                environment.reward_names, np.moveaxis(trial.terms, 2, 0), strict=True
            )
        ],
        "ends": dict(zip(environment.end_names, trial.ends.tolist(), strict=True)),
        "truncated": trial.truncated,
        "lost": trial.lost,
        "steps": trial.steps,
        "steps_per_second": trial.steps / trial.seconds,
    }


def print_environment(environment: Environment, trial: Trial) -> None:
    """Print sizes, observations, rewards and ends."""
    lowest, highest = environment.action_range
    print_line()
    print_line(
        f"  environment period {environment.period:g} s, episodes of {environment.length * environment.period:g} s; "
        f"{trial.steps / trial.seconds:,.0f} control steps/s of {len(environment)} worlds on one thread"
    )
    print_line(f"  action      {environment.action_size} numbers in [{lowest:g}, {highest:g}]")
    seen = f"{environment.observation_size} numbers"
    if environment.critic_size > environment.observation_size:
        seen += f"; a critic sees {environment.critic_size}"
    print_line(f"  observation {seen}")
    print_line()
    rows = []
    for k, name in enumerate(environment.observed_names):
        columns = environment.plan.columns(k)
        low, high = trial.lowest[columns].min(), trial.highest[columns].max()
        rows.append((name, str(len(columns)), f"{low:.3g}", f"{high:.3g}"))
    print_columns(("observation", "size", "lowest", "highest"), rows)
    if environment.reward_names:
        print_line()
        rows = [
            (name, f"{x.mean():.3g}", f"{x.min():.3g}", f"{x.max():.3g}")
            for name, x in zip(
                environment.reward_names, np.moveaxis(trial.terms, 2, 0), strict=True
            )
        ]
        print_columns(("reward", "mean", "lowest", "highest"), rows)
    print_line()
    ends = [f"{name} {n}" for name, n in zip(environment.end_names, trial.ends, strict=True)]
    ends += [f"duration {trial.truncated}"] + ([f"lost {trial.lost}"] if trial.lost else [])
    print_line(f"  ends        {', '.join(ends)}, in {trial.steps} control steps")
