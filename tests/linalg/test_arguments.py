"""Arguments of cy.linalg, run, check, Layout and calibrate: none is ignored or ends in an error of others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.linalg import kernels

EYE = np.eye(3)


def planned(**options):
    return cy.linalg.plan("matmul", EYE, EYE, **options)


def two():
    return kernels.matmul.compile(EYE, EYE)


def owned(owner):
    return cy.Layout(block=2, owner=owner).owners((4, 4))


REFUSED = {
    "ranks-without-a-backend": ("CYC733", lambda: cy.linalg.matmul(EYE, EYE, ranks=4)),
    "plan-without-a-backend": ("CYC733", lambda: cy.linalg.matmul(EYE, EYE, plan=planned(ranks=1))),
    "verbose-without-a-backend": ("CYC733", lambda: cy.linalg.cholesky(EYE, verbose=True)),
    "ranks-of-numpy": ("CYC733", lambda: cy.linalg.cholesky(EYE, backend="numpy", ranks=2)),
    "ranks-and-another-plan": (
        "CYC737",
        lambda: cy.linalg.matmul(EYE, EYE, backend="local", ranks=4, plan=planned(ranks=1)),
    ),
    "plan-that-is-none": ("CYC737", lambda: cy.linalg.cholesky(EYE, backend="local", plan="tiles")),
    "plan-with-other-flags": (
        "CYC737",
        lambda: cy.linalg.solve_triangular(
            EYE,
            EYE,
            unit_diagonal=True,
            backend="local",
            plan=cy.linalg.plan("solve_triangular", EYE, EYE, ranks=1),
        ),
    ),
    "plan-on-no-backend": ("CYC720", lambda: planned(backend="gpu")),
    "plan-with-flags-of-a-solve": ("CYC737", lambda: planned(lower=False)),
    "half-a-rank": ("CYC733", lambda: cy.linalg.matmul(EYE, EYE, backend="local", ranks=1.5)),
    "spec-without-numbers": (
        "CYC737",
        lambda: cy.linalg.matmul(cy.spec((3, 3)), cy.spec((3, 3)), backend="local"),
    ),
    "matrix-of-text": ("CYC737", lambda: cy.linalg.cholesky(np.array([["4"]]), backend="local")),
    "matrix-of-ragged-rows": ("CYC737", lambda: cy.linalg.cholesky([[4.0], [1.0, 2.0]], backend="local")),
    "triangle-named-as-lapack-does": ("CYC737", lambda: cy.linalg.solve_triangular(EYE, EYE, lower="U")),
    "element-that-is-no-square": ("CYC737", lambda: cy.linalg.lu(np.ones((2, 3)))),
    "elements-without-a-product": ("CYC737", lambda: cy.linalg.matmul(np.ones((2, 3)), np.ones((2, 3)))),
    "right-hand-sides-of-an-element": (
        "CYC737",
        lambda: cy.linalg.solve_triangular(EYE, np.ones((4, 1))),
    ),
    "side-that-is-none": ("CYC737", lambda: cy.linalg.solve_triangular(EYE, EYE, side="top")),
    "calibration-of-nonsense": ("CYC737", lambda: cy.calibrate("nonsense")),
    "deal-that-is-no-layout": ("CYC733", lambda: cy.run(two(), backend="mpi", deal="x")),
    "ranks-of-threads": ("CYC733", lambda: cy.run(two(), backend="local", ranks=2)),
    "threads-that-are-none": ("CYC733", lambda: cy.run(two(), threads=-1)),
    "functional-that-is-none": ("CYC713", lambda: cy.run(two(), backend="sim", functional="no")),
    "check-on-no-backend": ("CYC720", lambda: cy.check(two(), backends="gpu")),
    "check-to-no-tolerance": ("CYC714", lambda: cy.check(two(), tolerance=float("nan"))),
    "input-of-ragged-rows": ("CYC710", lambda: cy.run(two(), [[1.0], [1.0, 2.0]], EYE)),
    "layout-without-a-dimension": ("CYC734", lambda: cy.Layout(grid=())),
    "layout-of-more-ranks-than-mpi-counts": ("CYC734", lambda: cy.Layout(grid=(1 << 16, 1 << 16))),
    "owner-of-other-arguments": ("CYC734", lambda: owned(lambda i: 0)),
    "owner-that-returns-no-number": ("CYC734", lambda: owned(lambda i, j: "first")),
    "owner-that-fails": ("CYC734", lambda: owned(lambda i, j: i // j)),
    "rank-outside-a-grid": ("CYC733", lambda: cy.Layout((2, 2)).descriptor((4, 4), rank=4)),
    "shape-that-is-none": ("CYC734", lambda: cy.Layout((2, 2)).tile((-1, 4))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, golden_refusal):
    code, action = REFUSED[name]
    golden_refusal(name, cy.CyclotronError, code, action)


def test_numpys_failure_is_an_error_of_ours():
    A = np.diag([1.0, 4.0, -1.0, 9.0])
    with pytest.raises(cy.ExecutionError, match="leading minor of order 3 of 4 is not positive") as caught:
        cy.linalg.cholesky(A, backend="numpy")
    assert caught.value.code == "CYC701"
    with pytest.raises(cy.ExecutionError, match="pivot 2 is") as caught:
        cy.run(kernels.cholesky.compile(cy.blocked(A, 4)), backend="numpy")
    assert caught.value.code == "CYC701"


def test_plans_take_what_the_operations_take():
    ones = np.ones(3)
    assert cy.linalg.plan("cholesky", [[4.0]], ranks=1).operands == (cy.spec((1, 1), tile=1),)
    for operation, operands, options in (
        ("matmul", (EYE, ones), {}),
        ("matmul", (ones, EYE.astype("int64")), {}),
        ("matmul", (EYE.astype("float32"), EYE.astype("complex64")), {}),
        ("matmul", (np.ones((0, 3)), np.ones((3, 2))), {}),
        ("solve_triangular", (EYE.astype("int32"), ones), {"lower": False, "trans": "T"}),
        ("solve_triangular", (np.ones((0, 0)), np.ones((0, 2))), {"unit_diagonal": True}),
        ("cholesky", (np.zeros((0, 0)),), {}),
        ("cholesky", (EYE.astype(">f8"),), {}),
    ):
        function = getattr(cy.linalg, operation)
        plan = cy.linalg.plan(operation, *operands, backend="local", ranks=2, **options)
        found = function(*operands, backend="local", plan=plan, **options)
        expected = function(*operands, backend="local", ranks=2, **options)
        assert str(plan).startswith(f"{plan.kernel.name} of ")
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


def test_plans_for_more_ranks_than_there_are_tiles():
    for ranks in (7, 1024, 2**31 - 1):
        for operation, count in (("matmul", 2), ("solve_triangular", 2), ("cholesky", 1)):
            plan = cy.linalg.plan(operation, *[cy.spec((512, 512))] * count, ranks=ranks)
            assert 0 < plan.seconds < float("inf")


ODD = {
    "none": None,
    "negative": -1,
    "huge": 10**30,
    "nan": float("nan"),
    "text": "x",
    "dict": {},
    "type": int,
    "empty": np.zeros((0, 0)),
    "number": np.array(4.0),
    "cube": np.ones((2, 2, 2)),
    "objects": np.array([[object()]]),
    "text array": np.array([["a"]]),
    "dates": np.array(["2020"], "M8[D]"),
    "records": np.zeros(2, [("a", "f8")]),
    "bytes": np.eye(2, dtype="u1"),
    "half": np.eye(2, dtype="f2"),
    "spec": cy.spec((3, 3)),
    "vector": np.ones(3),
    "ragged": [[1], [1, 2]],
    "read only": np.broadcast_to(4.0, (1, 1)),
    "big endian": EYE.astype(">f8"),
    "strided": np.eye(6)[::2, ::2],
    "matrix": EYE.view(np.matrix),
    "layout": cy.Layout((2, 1)),
}


def calls_with(odd):
    """Every function with an odd argument in each place."""
    program, ranks = two(), cy.Layout((2, 1))
    linalg = cy.linalg
    for function in (linalg.matmul, linalg.solve_triangular):
        for operands in ((odd, EYE), (EYE, odd), (odd, odd)):
            yield function, operands, {}
            yield function, operands, {"backend": "local", "ranks": 2}
    for function in (cy.calibrate, linalg.lu, linalg.ldl, linalg.inv_triangular, linalg.cholesky):
        yield function, (odd,), {}
    yield linalg.cholesky, (odd,), {"backend": "local"}
    for name in ("side", "lower", "trans", "unit_diagonal", "ranks", "plan", "backend"):
        yield linalg.solve_triangular, (EYE, EYE), {"backend": "local", name: odd}
    yield linalg.plan, (odd, EYE), {}
    yield linalg.plan, ("matmul", odd, EYE), {}
    yield linalg.plan, ("cholesky", odd), {}
    for name in ("ranks", "backend", "lower", "trans"):
        yield linalg.plan, ("solve_triangular", EYE, EYE), {name: odd}
    for name in ("grid", "block", "source", "owner"):
        yield lambda **given: cy.Layout(**given).owners((4, 4)), (), {"block": 2, name: odd}
    yield owned, (lambda i, j: odd,), {}
    for method in (ranks.tile, ranks.owners, ranks.descriptor):
        yield method, (odd,), {}
    yield ranks.local_indices, ((4, 4), odd), {}
    for backend in ("local", "sim", "numpy"):
        yield cy.run, (program, odd, EYE), {"backend": backend}
    for name in ("backend", "ranks", "deal", "functional", "threads", "event_limit", "engine"):
        yield cy.run, (program,), {name: odd}
    for name in ("backends", "ranks", "tolerance"):
        yield cy.check, (program,), {"backends": ("sim",), name: odd}


@pytest.mark.parametrize("name", ODD)
def test_no_argument_ends_in_an_error_of_others(name):
    for function, arguments, options in calls_with(ODD[name]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, of a division by zero
            try:
                function(*arguments, **options)
            except cy.CyclotronError:
                pass
            except np.linalg.LinAlgError:  # of elements, as in NumPy
                assert (name, options) in [("negative", {}), ("nan", {})]
