"""Noise of sampled elements.

Oracles: the test vectors of Random123 for Philox 4×32 with ten rounds [Salmon et al. 2011], closed forms of moments and
of the spectrum of white noise, and bits of other runs.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import pysim
from pysim import _engine
from pysim.errors import SceneError
from pysim.tracing.random_numbers import uniform, world_key
from tests.elements.blocks import FIXED, disc, scene_of, simulation, table

PERIOD = 1e-3
COUNT = 20_000

VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
        (0xFFFFFFFF, 0xFFFFFFFF),
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), VECTORS)
def test_philox_has_the_published_test_vectors(counter, key, words):
    index, stream, own = (low | high << 32 for low, high in (counter[:2], counter[2:], key))
    found = _engine.philox_words(
        np.array([index], np.uint64), np.array([own], np.uint64), stream, 1
    )
    assert tuple(found[0].tolist()) == words


def noisy(name="reading", **keys):
    given = {"type": "noisy", "inputs": ["zero"], "period": PERIOD, "deviation": 1.0}
    zero = table("signal", name="zero", type="constant", value=0.0, unit="rad")
    return zero + table("sensor", name=name, **(given | keys))


def readings(tmp_path, text, **keys):
    given = {"step": PERIOD, "duration": COUNT * PERIOD, "interval": PERIOD}
    scene = scene_of(tmp_path, disc() + text + simulation("semi_implicit", **(given | keys)))
    return pysim.simulate(scene).signals["reading"]


def test_the_engine_draws_the_numbers_of_the_definition(tmp_path):
    x = readings(tmp_path, noisy(), duration=0.1)
    index, key = np.arange(len(x)), world_key(0, 0)
    stream = zlib.crc32(b"reading") * 2 * 2**16
    first, second = (uniform(index, key, stream + k) for k in (0, 1))
    wanted = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    np.testing.assert_allclose(x, wanted, rtol=1e-13, atol=1e-15)


def test_noise_is_standard_normal_and_white(tmp_path):
    x = readings(tmp_path, noisy(deviation=2.0, bias=0.5), duration=COUNT * PERIOD)
    n = len(x)
    z = (x - 0.5) / 2.0
    # each moment within four of its own standard deviations
    assert abs(z.mean()) < 4 / np.sqrt(n)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs((z**3).mean()) < 4 * np.sqrt(15 / n)
    assert abs((z**4).mean() - 3) < 4 * np.sqrt(96 / n)
    for lag in (1, 2, 7, 100):
        assert abs((z[lag:] * z[:-lag]).mean()) < 4 / np.sqrt(n)
    # the periodogram of white noise is flat: its mean over 50 bands is 1, within four standard deviations
    power = np.abs(np.fft.rfft(z - z.mean()))[1:-1] ** 2 / n
    bands = power[: len(power) // 50 * 50].reshape(50, -1)
    assert (abs(bands.mean(axis=1) - 1) < 4 / np.sqrt(bands.shape[1])).all()


def test_quantised_noise_is_a_multiple_of_the_step(tmp_path):
    x = readings(tmp_path, noisy(step=0.25), duration=0.1)
    assert_array_equal(x, 0.25 * np.round(x / 0.25))
    assert len(np.unique(x)) > 8


def test_noise_has_the_same_bits_in_every_integrator_and_at_every_step(tmp_path):
    reference = readings(tmp_path, noisy(), duration=0.05)
    for scheme in (*FIXED, "dopri5"):
        step = {} if scheme == "dopri5" else {"step": 0.4e-3}
        text = disc() + noisy() + simulation(scheme, duration=0.05, interval=PERIOD, **step)
        run = pysim.simulate(scene_of(tmp_path, text))
        assert_array_equal(run.signals["reading"], reference)


def rollout(scene, count, **keys):
    q = np.zeros((count, 1))
    return pysim.rollout(scene, q, q, signals=("reading",), **keys).signals["reading"]


def test_a_world_has_the_same_noise_in_every_batch_order_and_number_of_threads(tmp_path):
    text = disc() + noisy() + simulation("rk4", step=PERIOD, duration=0.03, interval=PERIOD)
    scene = scene_of(tmp_path, text)
    together = rollout(scene, 19)
    assert_array_equal(together[0], pysim.simulate(scene).signals["reading"])
    assert len(np.unique(together)) == together.size
    assert_array_equal(rollout(scene, 19, threads=2), together)
    assert_array_equal(rollout(scene, 3, worlds=[7, 18, 2]), together[[7, 18, 2]])
    adaptive = scene_of(
        tmp_path, text.replace('"rk4"', '"dopri5"').replace("step = 0.001\n", "", 1)
    )
    assert_array_equal(rollout(adaptive, 3), together[:3])
    scenes = [scene_of(tmp_path, text) for _ in range(4)]
    listed = pysim.rollout(scenes, signals=("reading",)).signals["reading"]
    assert_array_equal(listed, together[:4])


def test_a_continued_rollout_goes_on_with_its_noise(tmp_path):
    text = disc() + noisy() + simulation("rk4", step=PERIOD, duration=0.04, interval=PERIOD)
    scene = scene_of(tmp_path, text)
    whole = rollout(scene, 5, steps=40)
    q = np.zeros((5, 1))
    first = pysim.rollout(scene, q, q, signals=("reading",), steps=15)
    second = pysim.rollout(
        scene, first.q[:, -1], first.v[:, -1], signals=("reading",), steps=25, state=first.state
    )
    both = np.hstack([first.signals["reading"], second.signals["reading"][:, 1:]])
    assert_array_equal(both, whole)


def test_the_seed_and_the_name_select_the_noise(tmp_path):
    def of(seed, name="reading"):
        run = simulation("rk4", step=PERIOD, duration=0.05, interval=PERIOD, seed=seed)
        scene = scene_of(tmp_path, disc() + noisy(name) + run)
        return pysim.simulate(scene).signals[name]

    first = of(0)
    assert_array_equal(of(0), first)
    for other in (of(1), of(2**40), of(0, "another")):
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.5
        assert len(np.intersect1d(first, other)) == 0


def test_noise_of_one_sensor_does_not_depend_on_others(tmp_path):
    alone = readings(tmp_path, noisy(), duration=0.05)
    before = table("sensor", name="a", type="noisy", inputs=["zero"], period=2e-3, deviation=1.0)
    assert_array_equal(readings(tmp_path, before + noisy(), duration=0.05), alone)


def test_an_imu_has_noise_bias_and_quantisation(tmp_path):
    keys = {"acceleration_noise": 0.02, "rate_noise": 0.001, "acceleration_bias": [0.1, 0.0, -0.2]}
    imu = table("sensor", name="imu", type="imu", frame="disc", period=PERIOD, **keys)
    text = disc().replace("gravity = [0, 0, 0]", "gravity = [0, 0, -9.81]") + imu
    run = pysim.simulate(
        scene_of(tmp_path, text + simulation("rk4", step=PERIOD, duration=5.0, interval=PERIOD))
    )
    a, w = run.signals["imu.acceleration"], run.signals["imu.rate"]
    n = len(a)
    assert (abs(a.mean(axis=0) - [0.1, 0.0, 9.61]) < 4 * 0.02 / np.sqrt(n)).all()
    assert (abs(a.std(axis=0) / 0.02 - 1) < 4 / np.sqrt(2 * n)).all()
    assert (abs(w.std(axis=0) / 0.001 - 1) < 4 / np.sqrt(2 * n)).all()
    mixed = np.corrcoef(np.hstack([a, w]).T) - np.eye(6)
    assert abs(mixed).max() < 4.5 / np.sqrt(n)


def test_continuous_noise_is_rejected(tmp_path):
    text = disc() + noisy().replace(f"period = {PERIOD!r}\n", "") + simulation("rk4")
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, text)
    wanted = "sensor 'reading': has noise, which is defined at instants; give it a period [s]"
    assert str(caught.value).endswith(wanted)


def test_worlds_need_a_number_each(tmp_path):
    scene = scene_of(
        tmp_path, disc() + noisy() + simulation("rk4", step=PERIOD, duration=0.01, interval=PERIOD)
    )
    with pytest.raises(ValueError, match="worlds has 2 numbers for 3 worlds; pass one for each"):
        rollout(scene, 3, worlds=[0, 1])
    with pytest.raises(ValueError, match="worlds must not be negative, got -1"):
        rollout(scene, 1, worlds=[-1])


def drifting(**keys):
    return table("sensor", name="imu", type="imu", frame="disc", period=PERIOD, **keys)


def test_the_bias_of_an_imu_walks_at_random(tmp_path):
    """Its changes are normal, white and of the stated deviation; readings are the drift, since the disc rests."""
    scene = scene_of(
        tmp_path,
        disc()
        + drifting(rate_walk=0.02, acceleration_walk=0.5)
        + simulation("semi_implicit", step=PERIOD, duration=5.0, interval=PERIOD),
    )
    run = pysim.simulate(scene)
    for reading, deviation in (("rate", 0.02), ("acceleration", 0.5)):
        drift = run.signals[f"imu.{reading}_drift"]
        steps = np.diff(drift, axis=0) / deviation
        n = steps.size
        assert abs(steps.mean()) < 4 / np.sqrt(n)
        assert abs(steps.var() - 1) < 4 * np.sqrt(2 / n)
        for a, b in ((steps[1:], steps[:-1]), (steps[:, 1:], steps[:, :-1])):
            assert abs((a * b).mean()) < 4 / np.sqrt(a.size)
        read = run.signals[f"imu.{reading}"]
        np.testing.assert_allclose(read[1:], drift[:-1], atol=1e-12)  # updated after the reading
    worlds = pysim.rollout(scene, np.zeros((2, 1)), np.zeros((2, 1)), signals=["imu.rate"])
    assert_array_equal(worlds.signals["imu.rate"][0], run.signals["imu.rate"])
    assert np.abs(worlds.signals["imu.rate"][1] - run.signals["imu.rate"]).max() > 0.1


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        (drifting(rate_walk=0.1).replace(f"period = {PERIOD}\n", ""), "acceleration_drift"),
        (
            table("controller", name="c", type="relay", inputs=["angle.q"], lower=0.0, upper=1.0),
            "switch",
        ),
        (table("controller", name="c", type="delay", inputs=["angle.q"]), "past"),
    ],
)
def test_memory_without_a_period_is_rejected(tmp_path, text, memory):
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, disc() + text + simulation())
    problem = f"has the memory {memory!r}, which changes at instants; give it a period [s]"
    assert str(caught.value).endswith(problem)
