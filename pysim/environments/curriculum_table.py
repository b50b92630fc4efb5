"""Reads the table `curriculum` of an environment: its levels, and the term of the reward by which they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.environments.draws import draws_by_name
from pysim.environments.plan import CurriculumPlan, LevelPlan
from pysim.environments.randomised import Randomised
from pysim.errors import did_you_mean
from pysim.scene.toml.records.environment_table import Randomise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim.environments.table_places import TablePlaces
    from pysim.scene.toml.records.environment_table import Curriculum, Environment
    from pysim.simulation.worlds import Worlds

# first of the uses of displacements, and of numbers, which are beyond those of `randomise`; numbers of a level
DISPLACEMENTS, NUMBERS, USES = 1 << 12, 1 << 16, 1 << 6


def read_curriculum(
    tables: Environment,
    places: TablePlaces,
    worlds: Worlds,
    randomised: Sequence[Randomised],
    schedule: Callable[[tuple[str | int, ...], None], int],
) -> CurriculumPlan | None:
    """Return the plan of the levels; None without the table.

    Args:
        tables: the `[environment]` of a scene.
        places: of its keys.
        worlds: of the scene.
        randomised: numbers that other tables draw.
        schedule: returns the number of a schedule of what is drawn as episodes begin alone.

    Raises:
        SimulationError: a name or number of the table does not suit the scene.
    """
    table = tables.curriculum
    if table is None:
        return None
    rewards = [reward.name for reward in tables.reward]
    if table.reward not in rewards:
        remedy = did_you_mean(table.reward, rewards) or "; add an [[environment.reward]]"
        problem = f"there is no reward {table.reward!r}{remedy}"
        raise places.error(("curriculum", "reward"), problem)
    never = schedule(("curriculum",), None)
    levels = tuple(
        _level(table, k, places, worlds, randomised, never) for k in range(len(table.level))
    )
    term = rewards.index(table.reward)
    return CurriculumPlan(term, table.rise, table.fall, table.first, levels)


def _level(
    table: Curriculum,
    k: int,
    places: TablePlaces,
    worlds: Worlds,
    randomised: Sequence[Randomised],
    never: int,
) -> LevelPlan:
    values, keys = table.level[k].values, ("curriculum", "level", k)
    known = table.level[0].values
    different = next(
        (path for path in (*known, *values) if (path in known) != (path in values)), None
    )
    if different is not None:
        problem = f"{different!r} has a value in some levels only"
        raise places.error((*keys, "values"), f"{problem}; give it one in every level")
    numbers: list[Randomised] = []
    for i, (path, value) in enumerate(values.items()):
        level = Randomised(
            Randomise(path=path, value=value if isinstance(value, str | list) else [float(value)]),
            NUMBERS + USES * k + i,
            worlds.parameters,
            lambda *_, path=path: places.where(*keys, "values", path),
            never,
        )
        if any(level.shared_with(other) is not None for other in (*randomised, *numbers)):
            problem = f"{path!r} is drawn by another table; leave one out"
            raise places.error((*keys, "values", path), problem)
        numbers.append(level)
    where = places.where(*keys, "displacement")
    names = worlds.model.velocity_names
    drawn = draws_by_name(where, table.level[k].displacement, names, DISPLACEMENTS + k)
    return LevelPlan(drawn, tuple(numbers))
