"""The form of errors: `where: what is wrong; what to do`. The oracle is the text itself."""

from __future__ import annotations

import copy
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import pysim
from pysim.errors import PysimError, PysimWarning, did_you_mean

KINDS = [
    pysim.SceneError,
    pysim.ModelError,
    pysim.JointError,
    pysim.SimulationError,
    pysim.TrajectoryError,
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_keeps_its_place_and_its_problem_apart(kind: type[PysimError]) -> None:
    error = kind("rod.toml:3:8: body[0].mass", "must be positive [kg], got -2.0")

    assert str(error) == "rod.toml:3:8: body[0].mass: must be positive [kg], got -2.0"
    assert error.where == "rod.toml:3:8: body[0].mass"
    assert error.problem == "must be positive [kg], got -2.0"


@pytest.mark.parametrize("kind", KINDS)
def test_users_may_catch_pysim_error_or_value_error(kind: type[PysimError]) -> None:
    assert issubclass(kind, pysim.PysimError)
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize("kind", [*KINDS, pysim.PysimError, pysim.IdentificationError])
@pytest.mark.parametrize(
    "copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy]
)
def test_an_error_may_be_pickled_and_copied_with_its_notes(kind, copied) -> None:
    error = kind("rod.toml:3:8: body[0].mass", "must be positive [kg], got -2.0")
    error.add_note("in world 3")
    again = copied(error)

    assert type(again) is kind
    assert (str(again), again.where, again.problem) == (str(error), error.where, error.problem)
    assert again.__notes__ == ["in world 3"]


@pytest.mark.slow
def test_an_error_of_a_worker_process_reaches_the_one_that_waits() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(pysim.SceneError, match=r"^nowhere\.toml: "):
            pool.submit(pysim.load_scene, "nowhere.toml").result(timeout=60)
        assert pool.submit(abs, -1).result(timeout=60) == 1  # the pool lives


def test_warnings_can_be_silenced_apart_from_others() -> None:
    assert issubclass(pysim.PysimWarning, UserWarning)
    with pytest.warns(PysimWarning, match=r"^cup\.stl: is open$"):
        warnings.warn("cup.stl: is open", PysimWarning, stacklevel=1)


def test_the_closest_known_word_is_suggested() -> None:
    known = ["revolute", "prismatic", "universal"]
    assert did_you_mean("univrsal", known) == "; did you mean 'universal'?"


def test_known_words_are_listed_where_none_is_close() -> None:
    assert did_you_mean("zzz", ["ball", "free"]) == "; known: ball, free"


def test_a_long_list_of_known_words_is_cut_after_twenty() -> None:
    text = did_you_mean("zzz", [f"link{k}" for k in range(99)])
    assert text.endswith("link19, …")


def test_nothing_is_suggested_where_nothing_is_known() -> None:
    assert did_you_mean("zzz", []) == ""
