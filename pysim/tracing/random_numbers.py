"""Random numbers that are functions of their place: Philox 4×32 with ten rounds [Salmon et al. 2011].

The words of the counter are index and stream, those of the key are the key, low word first. The engine computes the
same bits (cpp/simd/random.hpp).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Words = NDArray[np.uint64]

ROUNDS = 10
MULTIPLIERS = np.array([0xD2511F53, 0xCD9E8D57], np.uint64)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
WORLD_STREAM = 2**52  # that of the keys of worlds; blocks have others
EPISODE_STREAM = 2**52 + 1  # that of the keys of later episodes of a world


def philox(counter: tuple[Words, Words, Words, Words], key: tuple[Words, Words]) -> Words:
    """Return four words of 32 bits, stacked along the first axis, for a counter and a key of 32 bits a word."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        first, second = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (
            (second >> HALF) ^ c1 ^ k0,
            second & LOW,
            (first >> HALF) ^ c3 ^ k1,
            first & LOW,
        )
        k0, k1 = (k0 + np.uint64(KEY_STEPS[0])) & LOW, (k1 + np.uint64(KEY_STEPS[1])) & LOW
    return np.stack(np.broadcast_arrays(c0, c1, c2, c3))


def uniform(index: ArrayLike, key: ArrayLike, stream: ArrayLike) -> NDArray[np.float64]:
    """Return numbers within (0, 1), from whole numbers below 2^53."""
    i, k, s = (np.asarray(x, float).astype(np.uint64) for x in (index, key, stream))
    words = philox((i & LOW, i >> HALF, s & LOW, s >> HALF), (k & LOW, k >> HALF))
    bits = (words[0] >> np.uint64(6) << np.uint64(26)) | (words[1] >> np.uint64(6))
    return np.asarray((bits.astype(float) + 0.5) * 2.0**-52)


def world_key(seed: ArrayLike, world: ArrayLike) -> NDArray[np.float64]:
    """Return the keys of worlds, whole numbers below 2^53, from the seed of their scene and their number."""
    return np.asarray(2.0**53 * uniform(world, seed, WORLD_STREAM))


def episode_key(key: ArrayLike, episode: ArrayLike) -> NDArray[np.float64]:
    """Return the keys of episodes of worlds, from the keys of the worlds; that of episode 0 is the world's."""
    own, number = np.asarray(key, float), np.asarray(episode)
    later = 2.0**53 * uniform(number, own, EPISODE_STREAM)
    return np.where(number == 0, own, np.floor(later))
