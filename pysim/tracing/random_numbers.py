"""Random numbers that are functions of their place: Philox 4×32 with ten rounds [Salmon et al. 2011].

The words of the counter are index and stream, those of the key are the key, low word first; cpp/simd/philox.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.typing import Array

WORLD_STREAM = 2**52  # that of the keys of worlds; blocks have others
EPISODE_STREAM = 2**52 + 1  # that of the keys of later episodes of a world


def uniform(index: ArrayLike, key: ArrayLike, stream: ArrayLike) -> Array:
    """Return numbers within (0, 1), from whole numbers below 2^53."""
    return np.asarray(_engine.philox_uniform(index, key, stream))


def world_key(seed: ArrayLike, world: ArrayLike) -> Array:
    """Return the keys of worlds, whole numbers below 2^53, from the seed of their scene and their number."""
    return np.asarray(2.0**53 * uniform(world, seed, WORLD_STREAM))


def episode_key(key: ArrayLike, episode: ArrayLike) -> Array:
    """Return the keys of episodes of worlds, from the keys of the worlds; that of episode 0 is the world's."""
    own, number = np.asarray(key, float), np.asarray(episode)
    later = 2.0**53 * uniform(number, own, EPISODE_STREAM)
    return np.where(number == 0, own, np.floor(later))
