"""Recordings with known truth: motions of a mechanism, its torques with noise, its encoders with steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import pysim
from pysim import inertia
from pysim.identify import Samples, make_samples

Array = np.ndarray

ENCODER = 2 * np.pi / 2**16  # [rad] a step
RULER = 1e-5  # [m]
NOISE = 0.01  # of each torque's root mean square


@dataclass
class Recording:
    """Measurements of a motion, and its true values."""

    t: Array
    q: Array  # rounded to the encoders' steps
    tau: Array  # with noise
    noise: Array  # its standard deviation (nv,)
    true_v: Array
    true_a: Array

    def samples(self, model: pysim.Model, *, differentiate: bool = True) -> Samples:
        measured = (self.t, self.q, self.tau)
        if differentiate:
            return make_samples(model, *measured)
        return make_samples(model, *measured, self.true_v, self.true_a)


def arm_recording(model: pysim.Model, count: int, seed: int, step: float = 1e-3) -> Recording:
    """A sum of five sines a joint, within 60 % of its range; what `model` needs for it."""
    rng = np.random.default_rng(seed)
    t = np.arange(count) * step
    w = 2 * np.pi * 0.1 * np.arange(1, 6)[:, None]
    sine, cosine = rng.normal(size=(2, model.nv, 5)) / np.arange(1, 6)
    q = sine @ np.sin(w * t) + cosine @ np.cos(w * t)
    v = (sine * w.T) @ np.cos(w * t) - (cosine * w.T) @ np.sin(w * t)
    a = -(sine * w.T**2) @ np.sin(w * t) - (cosine * w.T**2) @ np.cos(w * t)
    lower, upper = (np.array([getattr(j, k)[0] for j in model.joints]) for k in ("lower", "upper"))
    scale = 0.3 * (upper - lower) / np.abs(q).max(axis=1)
    q, v, a = ((x * scale[:, None]).T for x in (q, v, a))
    return recorded(model, t, q + 0.5 * (lower + upper), v, a, rng)


def flight_recording(
    model: pysim.Model, count: int, seed: int, step: float = 1e-3, push: float = 0.0
) -> Recording:
    """A walking robot thrown into the air, its legs driven along sines.

    Nothing touches the base, or a known wrench of sines with the amplitude `push` [N, N·m].
    """
    rng = np.random.default_rng(seed)
    joints = model.nv - 6
    frequency, phase = rng.uniform(4, 12, (2, joints)), rng.uniform(0, 6, (2, joints))
    amplitude = rng.uniform(0.2, 0.6, (2, joints))
    q, v = model.neutral(), np.r_[rng.normal(0, 0.3, 6), np.zeros(joints)]
    rows = []
    for k in range(count):
        swing = min(1.0, k * step / 0.5) ** 2  # set in softly: a filter smooths jerks away
        wanted = swing * (amplitude * np.sin(frequency * k * step + phase)).sum(axis=0)
        wrench = push * np.sin(k * step * np.arange(5.0, 11.0))
        tau = np.r_[wrench, 60 * (wanted - q[7:]) - 1.5 * v[6:]]
        rows.append((q, v, pysim.aba(model, q, v, tau)))
        q, v = runge_kutta(model, q, v, tau, step)
    q, v, a = map(np.array, zip(*rows, strict=True))
    return recorded(model, np.arange(count) * step, q, v, a, rng)


def runge_kutta(
    model: pysim.Model, q: Array, v: Array, tau: Array, h: float
) -> tuple[Array, Array]:
    """Fourth order in v, and in q to the order of its weighted mean velocity, short steps being all there is."""
    a1 = pysim.aba(model, q, v, tau)
    v2 = v + 0.5 * h * a1
    a2 = pysim.aba(model, model.integrate(q, 0.5 * h * v), v2, tau)
    v3 = v + 0.5 * h * a2
    q3 = model.integrate(q, 0.5 * h * v2)
    a3 = pysim.aba(model, q3, v3, tau)
    v4 = v + h * a3
    a4 = pysim.aba(model, model.integrate(q, h * v3), v4, tau)
    mean = (v + 2 * v2 + 2 * v3 + v4) / 6
    return model.integrate(q, h * mean), v + h * (a1 + 2 * a2 + 2 * a3 + a4) / 6


def recorded(
    model: pysim.Model, t: Array, q: Array, v: Array, a: Array, rng: np.random.Generator
) -> Recording:
    tau = pysim.rnea(model, q, v, a) - pysim.passive_forces(model, q, v)
    noise = NOISE * np.sqrt((tau**2).mean(axis=0))
    noise[np.abs(tau).max(axis=0) < 1e-9] = 0.0  # nothing touches a base in flight: that is known
    measured = np.where(noise > 0, tau + noise * rng.standard_normal(tau.shape), 0.0)
    return Recording(t, rounded(model, q), measured, noise, v, a)


def rounded(model: pysim.Model, q: Array) -> Array:
    steps = np.array([ENCODER if unit == "rad" else RULER for unit in model.coordinate_units])
    steps[[unit == "" for unit in model.coordinate_units]] = 1e-6
    q = np.round(q / steps) * steps
    if model.nq > model.nv:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q


def mistaken(model: pysim.Model, seed: int, size: float = 0.3) -> pysim.Model:
    """The model as a drawing has it: every body off by about `size`, J = L exp(E) Lᵀ."""
    rng = np.random.default_rng(seed)
    theta = []
    for own in inertia.nearest_physical(model.parameters, margin=1e-4):
        L = np.linalg.cholesky(inertia.pseudo_inertia(own))
        E = rng.normal(0, size, (4, 4))
        values, V = np.linalg.eigh(E + E.T)
        theta.append(inertia.from_pseudo_inertia(L @ (V * np.exp(0.5 * values)) @ V.T @ L.T))
    return model.with_parameters(np.array(theta))
