"""Distributed arrays in a process that is no rank: the ranks of a pool keep them."""

from __future__ import annotations

import gc

import kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron import mpi

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_data_stay_in_the_ranks_between_runs(ranks):
    A, B = RNG.standard_normal((2, 50, 50))
    kept = cy.distribute(A, cy.Layout((ranks, 1), 8)), cy.distribute(B, cy.Layout((1, ranks), 13))
    program = kernels.matmul.compile(cy.blocked(A, 16), cy.blocked(B, 16))
    product = cy.run(program, *kept, backend="mpi")  # tiles of 16 from blocks of 8 and 13
    assert isinstance(product.output, cy.Distributed)
    assert len(product.profile) == ranks
    squared = cy.run(program, product.output, product.output, backend="mpi").output
    expected = cy.run(program, A, B, backend="local").output
    assert product.output.gather().tobytes() == expected.tobytes()
    expected = cy.run(program, expected, expected, backend="local").output
    assert np.asarray(squared).tobytes() == expected.tobytes()
    assert kept[0].gather().tobytes() == A.tobytes()


def test_arrays_in_arrays_out():
    A, B = RNG.standard_normal((2, 40, 40))
    program = kernels.matmul.compile(cy.blocked(A, 16), cy.blocked(B, 16))
    output = cy.run(program, backend="mpi", ranks=2).output
    assert isinstance(output, np.ndarray)
    assert output.tobytes() == cy.run(program).output.tobytes()
    dealt = cy.run(program, backend="mpi", ranks=2, deal=cy.Layout((1, 2), 1)).output
    assert dealt.tobytes() == output.tobytes()
    with pytest.raises(cy.ExecutionError, match="on the local backend"):
        cy.run(program, backend="local", deal=cy.Layout((1, 2), 1))


def test_a_file(tmp_path):
    A = RNG.standard_normal((30, 20))
    np.save(tmp_path / "A.npy", A)
    kept = cy.distribute(tmp_path / "A.npy", cy.Layout(block=7, owner=lambda i, j: (i + j) % 2), ranks=2)
    assert kept.gather().tobytes() == A.tobytes()


def test_what_nobody_has_any_more_is_dropped():
    gc.collect()
    pool = mpi.default_pool(2)
    before = pool.keeps
    kept = cy.distribute(np.ones((4, 4)), ranks=2)
    other = kept.relayout(cy.Layout((1, 2)))
    assert pool.keeps == before + 2
    del kept
    gc.collect()
    assert pool.keeps == before + 1
    assert (other.gather() == 1).all()


def test_a_pool_with_data_is_not_closed_for_others():
    kept = cy.distribute(np.ones((4, 4)), ranks=1)
    for ranks in (2, 3, 2, 3):
        mpi.default_pool(ranks)
    assert (kept.gather() == 1).all()


def test_what_cannot_be_had_is_refused(golden):
    array = np.ones((4, 4))
    program = kernels.matmul.compile(cy.blocked(array, 2), cy.blocked(array, 2))
    with mpi.Pool(1) as pool:
        kept = cy.Distributed(pool, *pool.distribute(lambda: array, cy.Layout((1, 1)), None))
        with pytest.raises(cy.ExecutionError, match="kept by 1 other ranks") as caught:
            cy.run(program, cy.distribute(array, ranks=1), kept, backend="mpi")
        golden("refusals/array-of-other-ranks.txt", str(caught.value))
        with pytest.raises(cy.ExecutionError, match="no rank") as caught:
            kept.local
        golden("refusals/part-of-no-rank.txt", str(caught.value))
    with pytest.raises(cy.ExecutionError, match="gone") as caught:
        kept.gather()
    golden("refusals/array-of-a-closed-pool.txt", str(caught.value))


REFUSED = {
    "no-ranks": ("CYC733", lambda kept: cy.distribute(np.eye(2), ranks=0)),
    "more-ranks-than-a-pool-has": ("CYC733", lambda kept: cy.distribute(np.eye(2), ranks=10**6)),
    "root-outside-the-ranks": ("CYC733", lambda kept: cy.distribute(np.eye(2), ranks=2, root=9)),
    "relayout-to-no-layout": ("CYC734", lambda kept: kept.relayout("x")),
    "array-of-objects": ("CYC734", lambda kept: cy.distribute(np.array([object()]), ranks=2)),
    "other-ranks-than-an-operands": ("CYC736", lambda kept: cy.linalg.cholesky(kept, ranks=3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, golden_refusal, monkeypatch):
    monkeypatch.setattr("cyclotron.mpi.pool.threads", lambda: 2)  # cores, of which a text tells the number
    gc.collect()  # what other tests kept is let go now, not while this one counts
    kept = cy.distribute(np.eye(2), ranks=2)
    code, action = REFUSED[name]
    before = mpi.default_pool(2).keeps
    golden_refusal(name, cy.CyclotronError, code, lambda: action(kept))
    assert mpi.default_pool(2).keeps == before


def test_what_numpy_makes_arrays_of():
    for array in ([[1.0, 2.0]], np.eye(4)[::-2], np.asfortranarray(np.ones((3, 2))), np.eye(2).astype(">f8")):
        assert (cy.distribute(array, ranks=2, root=1).gather() == np.asarray(array)).all()
    with pytest.raises(ValueError, match="gathered into a copy"):
        np.asarray(cy.distribute(np.eye(2), ranks=2), copy=False)


def test_refused_before_anything_is_sent(golden, tmp_path):
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(cy.ShapeError) as caught:
        cy.distribute(tmp_path / "text.npy", ranks=2)
    golden("refusals/file-of-no-array.txt", str(caught.value).replace(str(tmp_path), "FOLDER"))
    (tmp_path / "empty.npy").touch()
    np.savez(tmp_path / "archive.npz", a=np.ones(3))
    for name in ("empty.npy", "archive.npz"):
        with pytest.raises(cy.ShapeError, match="no array that can be mapped"):
            cy.distribute(tmp_path / name, ranks=2)
    with pytest.raises(cy.ShapeError, match="S3"):
        cy.distribute(np.ones(3, "S3"), ranks=2)
    with pytest.raises(cy.ShapeError, match="rank 2 of 2"):
        cy.distribute(np.ones((9, 9)), cy.Layout(block=3, owner=lambda i, j: i), ranks=2)
    assert (cy.distribute(np.ones(3), ranks=2).gather() == 1).all()


@cy.kernel
def beside_a_triangle(A):
    n = A.shape[0]
    Y = cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            if j < i:
                Y[i, j] = A[i, j]
            elif j == i:
                Y[i, j] = 1.0
            else:
                Y[i, j] = 0.0
    return Y


@cy.kernel
def update(Y, A):
    n = A.shape[0]
    R = cy.empty((n + 1, n, n), dtype=A.dtype, tile=(1, n.tile, n.tile))
    C = cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            R[0, i, j] = Y[i, j]
            for k in range(1, n + 1):
                R[k, i, j] = R[k - 1, i, j] - A[i, k - 1] @ A[k - 1, j]
            C[i, j] = R[n, i, j]
    return C


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_tiles_of_one_number_may_be_one_tile(ranks):
    """An update in place of one of them leaves the others."""
    A = RNG.standard_normal((50, 50))
    fill = beside_a_triangle.compile(cy.blocked(A, 16))
    kept = cy.run(fill, cy.distribute(A, ranks=ranks), backend="mpi", deal=cy.Layout((1, ranks), 1)).output
    expected = cy.run(fill, A, backend="local").output
    assert np.count_nonzero(expected == 0) > 50 * 16
    np.testing.assert_array_equal(kept.gather(), expected)
    program = update.compile(cy.blocked(A, 16), cy.blocked(A, 16))
    for _ in range(2):
        updated = cy.run(program, kept, A, backend="mpi", ranks=ranks).output
        assert np.asarray(updated).tobytes() == cy.run(program, expected, A, backend="local").output.tobytes()
        np.testing.assert_array_equal(kept.gather(), expected)
