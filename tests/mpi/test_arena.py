"""The memory that a pool shares with its ranks, and uses again."""

import os
from pathlib import Path

import kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron import mpi
from cyclotron.mpi import arena

RNG = np.random.default_rng(5)


@pytest.fixture
def pool():
    with mpi.Pool(2) as found:
        yield found


def keep(pool, array, layout=None):
    return cy.Distributed(pool, *pool.distribute(lambda: array, layout, None))


def files(pool):
    return sorted(path.name for path in pool._processes.folder.glob("arrays-*"))


def test_what_the_ranks_keep_is_their_own(pool):
    """The second array goes through the memory that the first one came by."""
    arrays = [RNG.standard_normal(shape) for shape in ((30, 20), (20, 30), (7, 1), (60, 50), (0, 3))]
    kept = [keep(pool, array) for array in arrays]
    gathered = [one.gather() for one in kept]
    for array, found, again in zip(arrays, gathered, (one.gather() for one in kept), strict=True):
        assert found.tobytes() == again.tobytes() == array.tobytes()


def test_one_file_which_grows(pool):
    keep(pool, np.ones((4, 4)))
    first = files(pool)
    assert len(first) == 1
    keep(pool, np.ones((4, 4)))
    assert files(pool) == first
    keep(pool, np.ones((400, 400)))
    second = files(pool)
    assert len(second) == 1
    assert second != first
    assert (keep(pool, np.full((3, 3), 2)).gather() == 2).all()
    assert files(pool) == second


@pytest.mark.parametrize("what", ["more than is kept", "no room"])
def test_memory_that_is_not_kept(pool, monkeypatch, tmp_path, what):
    if what == "no room":
        monkeypatch.setattr(arena, "has_room", lambda folder, size: False)
        monkeypatch.setattr(arena.tempfile, "tempdir", str(tmp_path))
    else:
        monkeypatch.setattr(arena, "_MOST_KEPT", 1000)
    A = RNG.standard_normal((40, 40))
    kept = keep(pool, A)
    assert files(pool) == []
    assert os.listdir(tmp_path) == []
    assert kept.gather().tobytes() == A.tobytes()
    monkeypatch.undo()
    assert kept.gather().tobytes() == A.tobytes()
    assert len(files(pool)) == 1


def test_what_nobody_writes_is_zero(pool):
    """Though the memory holds other numbers."""
    keep(pool, np.full((50, 50), 7.0))
    nobody = cy.Layout(block=10, owner=lambda i, j: -1 if i == j else i % 2)
    expected = np.full((50, 50), 3.0)
    for i in range(0, 50, 10):
        expected[i : i + 10, i : i + 10] = 0
    assert np.array_equal(keep(pool, np.full((50, 50), 3.0), nobody).gather(), expected)


def test_programs_with_outputs_that_they_do_not_write_all_of():
    """The upper triangle of a Cholesky factor, after a product has filled the memory."""
    A = RNG.standard_normal((12, 12))
    S = A @ A.T + 12 * np.eye(12)
    product = kernels.matmul.compile(cy.blocked(A, 4), cy.blocked(A, 4))
    factor = cy.linalg.kernels.cholesky.compile(cy.blocked(S, 4))
    for _ in range(2):
        found = cy.run(product, backend="mpi", ranks=2).output
        before = found.copy()
        lower = cy.run(factor, backend="mpi", ranks=2).output
        assert lower.tobytes() == cy.run(factor, backend="local").output.tobytes()
        assert not np.triu(lower, 1).any()
        assert found.tobytes() == before.tobytes()


def test_a_closed_pool_leaves_no_memory():
    with mpi.Pool(1) as found:
        keep(found, np.ones((9, 9)))
        folder = Path(found._processes.folder)
        assert files(found)
    assert not folder.exists()
