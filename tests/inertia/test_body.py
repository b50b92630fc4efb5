"""`Inertia` against dense 6×6 congruences written from the definitions; merging against sums of 6×6 matrices.

The dense algebra: M = [[m 1, −mc×], [mc×, I]], Ad(X) = [[R, p× R], [0, R]], M_A = Ad(X_BA)ᵀ M_B Ad(X_BA). Formulas
printed wrongly on the KSL page of inertia are asserted to differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pysim import inertia, spatial
from pysim.errors import PysimError
from pysim.inertia import Inertia

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray
KINDS = [(np.float64, 1e-13), (np.float32, 3e-6)]
LENGTHS = [1, 7, 16, 37]  # below, at and across the widths of packs


def skew(a: Array) -> Array:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def dense(record: Array) -> Array:
    m, h, (xx, yy, zz, xy, yz, zx) = record[0], record[1:4], record[4:]
    I = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    return np.block([[m * np.eye(3), -skew(h)], [skew(h), I]])


def dense_Ad(X: Array) -> Array:  # noqa: N802, the field's name
    R, p = X[:3, :3], X[:3, 3]
    return np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])


def congruence(X: Array, M: Array) -> Array:
    A = np.linalg.inv(dense_Ad(X))
    return A.T @ M @ A


def random_records(rng: np.random.Generator, n: int, *, central: bool = False) -> Array:
    """Inertias of clouds of five points, about the origin or about their centres of mass."""
    records = []
    for _ in range(n):
        points, masses = rng.normal(size=(5, 3)), rng.uniform(0.2, 1, 5)
        if central:
            points -= masses @ points / masses.sum()
        I = sum(
            m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True)
        )
        entries = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[2, 0]]
        records.append([masses.sum(), *(masses @ points), *entries])
    return np.array(records)


def random_poses(rng: np.random.Generator, n: int) -> Array:
    return spatial.exp(rng.normal(size=(n, 6)))


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("kind", "tolerance"), KINDS)
def test_transforming_is_the_dense_congruence(
    n: int, kind: type, tolerance: float, rng: np.random.Generator
) -> None:
    records, X = random_records(rng, n), random_poses(rng, n)
    expected = [congruence(X[k], dense(records[k])) for k in range(n)]
    moved = Inertia(records, kind).transformed(X)
    assert moved.dtype == kind
    np.testing.assert_allclose(moved.matrix, expected, rtol=tolerance, atol=30 * tolerance)


@pytest.mark.usefixtures("isa")
def test_rotating_then_translating_is_transforming(rng: np.random.Generator) -> None:
    bodies, X = Inertia(random_records(rng, 19)), random_poses(rng, 19)
    R, p = X[:, :3, :3], X[:, :3, 3]
    np.testing.assert_array_equal(
        bodies.rotated(R).translated(p).record, bodies.transformed(X).record
    )


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_in_place_gives_the_same_bits_as_out_of_place(kind: type, rng: np.random.Generator) -> None:
    records, X = random_records(rng, 37), random_poses(rng, 37)
    for change, made, argument in (
        (Inertia.rotate, Inertia.rotated, X[:, :3, :3]),
        (Inertia.translate, Inertia.translated, X[:, :3, 3]),
        (Inertia.transform, Inertia.transformed, X),
    ):
        bodies = Inertia(records, kind)
        before = bodies.record
        expected = made(bodies, argument).record
        change(bodies, argument)
        assert bodies.record is before
        np.testing.assert_array_equal(bodies.record, expected)


@pytest.mark.usefixtures("isa")
def test_an_argument_that_is_part_of_the_record_is_read_before_it_is_overwritten(
    rng: np.random.Generator,
) -> None:
    records = random_records(rng, 37)
    expected = Inertia(records).translated(records[:, 1:4].copy()).record
    bodies = Inertia(records)
    bodies.translate(bodies.first_moment)
    np.testing.assert_array_equal(bodies.record, expected)
    one = Inertia(records[3])
    one.translate(one.first_moment)
    np.testing.assert_array_equal(one.record, expected[3])


@pytest.mark.usefixtures("isa")
def test_a_body_alone_has_the_bits_it_has_among_others(rng: np.random.Generator) -> None:
    records, X, V = random_records(rng, 37), random_poses(rng, 37), rng.normal(size=(37, 6))
    bodies = Inertia(records)
    for k in (0, 5, 36):
        one = Inertia(records[k])
        np.testing.assert_array_equal(one.transformed(X[k]).record, bodies.transformed(X).record[k])
        np.testing.assert_array_equal(one @ V[k], (bodies @ V)[k])
        np.testing.assert_array_equal(one.factor().matrix, bodies.factor().matrix[k])


def test_one_displacement_serves_many_bodies_and_one_body_many(rng: np.random.Generator) -> None:
    records, X = random_records(rng, 5), random_poses(rng, 5)
    many = Inertia(records).transformed(X[0])
    np.testing.assert_array_equal(many[3].record, Inertia(records[3]).transformed(X[0]).record)
    fan = Inertia(records[0]).transformed(X)
    np.testing.assert_array_equal(fan[3].record, Inertia(records[0]).transformed(X[3]).record)
    grid = Inertia(records[:, None]).transformed(X[:2])
    assert grid.shape == (5, 2)
    expected = Inertia(records[4]).transformed(X[1]).record
    np.testing.assert_array_equal(grid[4, 1].record, expected)


def test_a_displacement_may_be_a_record_of_twelve_numbers(rng: np.random.Generator) -> None:
    bodies, X = Inertia(random_records(rng, 4)), random_poses(rng, 4)
    by_record = bodies.transformed(spatial.record_from_pose(X))
    np.testing.assert_array_equal(by_record.record, bodies.transformed(X).record)


def test_translations_compose_where_the_ksl_page_s_do_not() -> None:
    """E0.10: I about the reference point; moving a *centroidal* I twice gives I + m S(a) + m S(a + b)."""
    body = Inertia([1, 0, 0, 0, 1, 2, 3, 0, 0, 0])
    a, b = np.array([0.0, 1.0, 0.0]), np.array([0.0, 2.0, 0.0])
    twice = body.translated(a).translated(b)
    np.testing.assert_allclose(twice.record, body.translated(a + b).record, rtol=1e-15)
    np.testing.assert_array_equal(twice.record[4:7], [10, 2, 12])
    printed = np.array([1.0, 2.0, 3.0]) + np.array([1, 0, 1]) * (a @ a) + np.array([1, 0, 1]) * 9
    assert not np.allclose(printed, twice.record[4:7])


def test_translating_leaves_nothing_unread() -> None:
    """The pitfall of E0: m = 1, I = (1, 2, 3) moved by (0, 0, √3·1) along z gives m = 1 and I = (4, 5, 3)."""
    moved = Inertia([1, 0, 0, 0, 1, 2, 3, 0, 0, 0]).translated([0, 0, np.sqrt(3)])
    np.testing.assert_allclose(moved.record[:1], [1])
    np.testing.assert_allclose(moved.record[4:7], [4, 5, 3], rtol=1e-15)


def test_printed_blocks_of_equations_6_to_8_differ_from_the_congruence(
    rng: np.random.Generator,
) -> None:
    record, X = random_records(rng, 1, central=True)[0], random_poses(rng, 1)[0]
    R, r = X[:3, :3], X[:3, 3]  # R_fc, r_fc
    m, I = record[0], dense(record)[3:, 3:]
    r_cf = -R.T @ r
    M = Inertia(record).transformed(X).matrix
    np.testing.assert_allclose(M[:3, 3:], m * R @ skew(r_cf) @ R.T, atol=1e-13)
    corrected = m * skew(r) @ R @ skew(r_cf) @ R.T + R @ I @ R.T
    np.testing.assert_allclose(M[3:, 3:], corrected, atol=1e-12)  # E0.3
    np.testing.assert_allclose(M[3:, 3:], R @ (I - m * skew(r_cf) @ skew(r_cf)) @ R.T, atol=1e-12)
    np.testing.assert_allclose(M[3:, 3:], R @ I @ R.T - m * skew(r) @ skew(r), atol=1e-12)  # E0.5
    printed_6 = m * skew(r_cf) @ R.T @ skew(r_cf) @ R.T + R @ I @ R.T
    printed_7 = I - m * skew(r_cf) @ skew(r_cf)
    assert abs(printed_6 - M[3:, 3:]).max() > 0.1
    assert abs(printed_7 - M[3:, 3:]).max() > 0.1
    assert abs(m * skew(r_cf) - M[:3, 3:]).max() > 0.1  # (8), upper right, with r_cf in c


def test_massless_inertia_moves_like_any_other(rng: np.random.Generator) -> None:
    record, X = np.r_[0, 0, 0, 0, random_records(rng, 1)[0, 4:]], random_poses(rng, 1)[0]
    moved = Inertia(record).transformed(X)
    np.testing.assert_allclose(moved.matrix, congruence(X, dense(record)), atol=1e-13)
    assert not np.isnan(moved.com).any()


@pytest.mark.usefixtures("isa")
def test_momentum_energy_and_power_are_those_of_the_dense_matrix(rng: np.random.Generator) -> None:
    records, V, A = random_records(rng, 19), rng.normal(size=(19, 6)), rng.normal(size=(19, 6))
    bodies, M = Inertia(records), np.array([dense(record) for record in records])
    np.testing.assert_allclose(bodies @ V, np.einsum("nij,nj->ni", M, V), rtol=1e-12, atol=1e-12)
    energy = 0.5 * np.einsum("ni,nij,nj->n", V, M, V)
    np.testing.assert_allclose(bodies.kinetic_energy(V), energy, rtol=1e-13)
    np.testing.assert_allclose(bodies.power(V, A), np.einsum("ni,nij,nj->n", V, M, A), rtol=1e-11)


def test_power_is_the_rate_of_the_kinetic_energy_of_a_moving_body(rng: np.random.Generator) -> None:
    body, V, A, h = Inertia(random_records(rng, 1)[0]), rng.normal(size=6), rng.normal(size=6), 1e-6
    rate = (body.kinetic_energy(V + h * A) - body.kinetic_energy(V - h * A)) / (2 * h)
    assert body.power(V, A) == pytest.approx(rate, rel=1e-8)
    # Newton-Euler: the bias wrench ad*(V) M V works on nothing
    assert spatial.power(V, spatial.cross_wrench(V, body @ V)) == pytest.approx(0, abs=1e-12)


@pytest.mark.usefixtures("isa")
def test_sparse_actions_are_the_dense_matrices_times_the_vector(rng: np.random.Generator) -> None:
    X, V, F = random_poses(rng, 19), rng.normal(size=(19, 6)), rng.normal(size=(19, 6))
    for sparse, matrix, x in (
        (spatial.act_on_twist(X, V), spatial.Ad(X), V),
        (spatial.act_on_wrench(X, F), spatial.Ad_star(X), F),
        (spatial.cross_twist(V, F), spatial.ad(V), F),
        (spatial.cross_wrench(V, F), spatial.ad_star(V), F),
    ):
        np.testing.assert_allclose(sparse, np.einsum("nij,nj->ni", matrix, x), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("kind", "tolerance"), KINDS)
def test_merging_adds_the_matrices_and_returns_the_new_centre(
    kind: type, tolerance: float, rng: np.random.Generator
) -> None:
    parents, children, X = random_records(rng, 9), random_records(rng, 9), random_poses(rng, 9)
    bodies = Inertia(parents, kind)
    com = bodies.merge(Inertia(children, kind), X)
    for k in range(9):
        M = dense(parents[k]) + congruence(X[k], dense(children[k]))
        np.testing.assert_allclose(bodies.matrix[k], M, rtol=tolerance, atol=30 * tolerance)
        ci, cj = parents[k, 1:4] / parents[k, 0], children[k, 1:4] / children[k, 0]
        cj = X[k, :3, :3] @ cj + X[k, :3, 3]
        mi, mj = parents[k, 0], children[k, 0]
        expected = (mi * ci + mj * cj) / (mi + mj)
        np.testing.assert_allclose(com[k], expected, rtol=tolerance, atol=10 * tolerance)


def test_merged_inertia_about_the_new_centre_is_the_closed_form(rng: np.random.Generator) -> None:
    """E0.11: Ic = Ii + R Ij Rᵀ − (mi mj / m) [ci − cj]×², all about the centres of mass."""
    parent, child = (Inertia(record) for record in random_records(rng, 2))
    X = random_poses(rng, 1)[0]
    d = parent.com - (X[:3, :3] @ child.com + X[:3, 3])
    mi, mj = parent.mass, child.mass
    expected = parent.about_com + X[:3, :3] @ child.about_com @ X[:3, :3].T
    expected = expected - mi * mj / (mi + mj) * skew(d) @ skew(d)
    merged = Inertia(parent.record)
    merged.merge(child, X)
    np.testing.assert_allclose(merged.about_com, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(merged.record, (parent + child.transformed(X)).record)


def test_merging_bodies_without_mass_leaves_the_centre_at_the_origin() -> None:
    body = Inertia.zeros()
    np.testing.assert_array_equal(body.merge(Inertia.zeros()), np.zeros(3))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Inertia(np.zeros(9)), "record: must have shape (…, 10), got (9,)"),
        (lambda: Inertia(np.full(10, np.nan)), "record: must be finite, got nan at [0]"),
        (lambda: Inertia(np.zeros(10), int), "dtype: must be float64 or float32, got int64"),
        (lambda: Inertia.zeros().rotated(2 * np.eye(3)), "R: must be a rotation"),
        (lambda: Inertia.zeros().transformed(np.eye(3)), "X: must have shape (…, 4, 4) or (…, 12)"),
        (
            lambda: Inertia.zeros(2).translate(np.zeros((3, 3))),
            "p: leading axes (3,) do not fit in (2,) of the bodies it changes",
        ),
        (
            lambda: Inertia.zeros().merge(Inertia.zeros(3)),
            "child: leading axes (3,) do not fit in () of the bodies they join",
        ),
        (lambda: Inertia.zeros(2) @ np.zeros((3, 6)), "V: leading axes (3,) do not fit (2,)"),
        (lambda: Inertia.zeros() + np.zeros(10), "does not support ufuncs"),
        (lambda: Inertia.from_matrix(np.ones((6, 6))), "matrix: must have the form"),
        (
            lambda: Inertia.from_com(1, np.zeros(3), np.triu(np.ones((3, 3)))),
            "inertia: must be symmetric, I − Iᵀ reaches 1 [kg·m²]",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], object], text: str) -> None:
    with pytest.raises((PysimError, TypeError)) as caught:
        call()
    assert text in str(caught.value)


def test_an_inertia_is_built_from_whatever_describes_it(rng: np.random.Generator) -> None:
    expected = Inertia(random_records(rng, 4))
    e = expected
    for built in (
        Inertia.from_theta(e.theta),
        Inertia.from_kwon(e.kwon),
        Inertia.from_matrix(e.matrix),
        Inertia.from_origin(e.mass, e.first_moment, e.about_origin),
        Inertia.from_com(e.mass, e.com, e.about_com),
    ):
        np.testing.assert_allclose(built.record, expected.record, rtol=1e-12, atol=1e-13)


def test_every_order_and_reference_point_comes_back(rng: np.random.Generator) -> None:
    packed = random_records(rng, 6).reshape(2, 3, 10)
    theta = inertia.packed_to_theta(packed)
    kwon = inertia.packed_to_kwon(packed)
    np.testing.assert_array_equal(inertia.theta_to_packed(theta), packed)
    np.testing.assert_array_equal(inertia.kwon_to_packed(kwon), packed)
    np.testing.assert_array_equal(inertia.theta_to_kwon(theta), kwon)
    np.testing.assert_array_equal(inertia.kwon_to_theta(kwon), theta)
    centroidal = inertia.packed_to_centroidal(packed)
    back = inertia.centroidal_to_packed(centroidal)
    np.testing.assert_allclose(back, packed, rtol=1e-13, atol=1e-14)
    for function in (inertia.theta_to_packed, inertia.kwon_to_theta, inertia.centroidal_to_packed):
        assert function(packed.astype(np.float32)).dtype == np.float32


def test_permutations_are_those_of_the_documents() -> None:
    """FORMULAS.md, section 0: target[k] = source[perm[k]] over entries 4 to 9."""
    numbers = np.arange(10.0)
    for function, permutation in (
        (inertia.packed_to_kwon, [4, 5, 6, 7, 9, 8]),
        (inertia.kwon_to_theta, [4, 7, 5, 8, 9, 6]),
        (inertia.theta_to_packed, [4, 6, 9, 5, 8, 7]),
        (inertia.theta_to_kwon, [4, 6, 9, 5, 7, 8]),
        (inertia.packed_to_theta, [4, 7, 5, 9, 8, 6]),
        (inertia.kwon_to_packed, [4, 5, 6, 7, 9, 8]),
    ):
        np.testing.assert_array_equal(function(numbers), [0, 1, 2, 3, *permutation])


def test_kwon_s_blocks_are_those_of_the_other_half_first(rng: np.random.Generator) -> None:
    body, V = Inertia(random_records(rng, 1)[0]), rng.normal(size=6)
    G = inertia.swap_blocks(body.matrix)
    np.testing.assert_array_equal(G[:3, :3], body.about_origin)
    np.testing.assert_array_equal(G[:3, 3:], skew(body.first_moment))
    momentum = inertia.swap_halves(G @ inertia.swap_halves(V))
    np.testing.assert_allclose(momentum, body @ V, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(inertia.swap_halves(inertia.swap_halves(V)), V)


def test_kernels_give_the_same_bits_on_avx2_and_avx512(rng: np.random.Generator) -> None:
    import pysim

    wide = [isa for isa in pysim.available_isas() if isa != "baseline"]
    records, X, V = random_records(rng, 37), random_poses(rng, 37), rng.normal(size=(37, 6))
    runs = []
    for isa in wide:
        pysim.use_isa(isa)
        bodies = Inertia(records)
        runs.append(np.hstack([bodies.transformed(X).record, bodies @ V, bodies.factor().com]))
    pysim.use_isa("auto")
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])
