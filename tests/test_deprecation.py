"""Former public names. Oracle: the object under its new name."""

from __future__ import annotations

import pytest

import pysim


@pytest.mark.parametrize(
    ("old", "new"), [("weighed_mesh", "mass_mesh"), ("WeighedMesh", "MassMesh")]
)
def test_a_former_name_warns_every_time_and_names_the_new_one(old: str, new: str) -> None:
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match="is deprecated; use") as warned:
            value = getattr(pysim, old)
        assert [str(w.message) for w in warned] == [f"pysim.{old} is deprecated; use pysim.{new}"]
        assert warned[0].filename == __file__
        assert value is getattr(pysim, new)


def test_former_names_are_not_listed_among_the_public_ones() -> None:
    assert not {"weighed_mesh", "WeighedMesh"} & {*pysim.__all__, *dir(pysim)}  # type: ignore[attr-defined]


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pysim' has no attribute 'nope'"):
        pysim.nope  # type: ignore[attr-defined]  # noqa: B018
