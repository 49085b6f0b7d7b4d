"""Tensors that stay on ranks between runs: nothing is scattered or gathered again."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from test_collective import launch

import cyclotron as cy
from cyclotron.mpi.arena import Arena

N = 16


@cy.kernel
def smooth(u, f):
    v = cy.empty_like(u)
    n = u.shape[0]
    for i in range(n):
        if i == 0 or i == n - 1:
            v[i] = u[i]
        else:
            v[i] = (u[i - 1] + u[i + 1] + f[i]) / 2
    return v


def program():
    return smooth.compile(cy.spec((N,)), cy.spec((N,)), schedule=cy.Schedule().space("i"))


def numpy_steps(u, f, steps):
    for _ in range(steps):
        v = u.copy()
        v[1:-1] = (u[:-2] + u[2:] + f[1:-1]) / 2
        u = v
    return u


def given():
    rng = np.random.default_rng(5)
    return rng.standard_normal(N), rng.standard_normal(N)


def test_a_pool_moves_what_is_given_once():
    u, f = given()
    with cy.resident(program(), backend="mpi", ranks=2, bind={"v": "u"}) as heat:
        heat.run(u=u, f=f)
        for _ in range(4):
            heat.run()
        v = heat["v"]
        entries = {(entry["what"], entry["name"]): entry for entry in heat.account}
    assert v.tobytes() == numpy_steps(u, f, 5).tobytes()
    assert entries["give", "f"]["times"] == 1
    assert entries["give", "f"]["bytes"] == 2 * f.nbytes
    assert entries["run", ""]["bytes"] == 0
    assert entries["fetch", "v"]["times"] == 1
    # Each rank's half has one element at the cut, which a PE of the other loads.
    assert entries["feed", "u"]["times"] == 4
    assert entries["feed", "u"]["bytes"] <= 4 * 2 * 8
    assert entries["feed", "u"]["messages"] <= 4 * 2


def test_a_pool_hands_jobs_over_without_arrays(monkeypatch):
    """A job for the ranks does not grow with the arrays."""
    from multiprocessing.reduction import ForkingPickler

    from cyclotron.mpi import pool

    sizes = []
    run = pool._Processes.run
    monkeypatch.setattr(
        pool._Processes,
        "run",
        lambda self, job: (sizes.append(len(ForkingPickler.dumps(job))), run(self, job))[1],
    )
    arenas = []
    monkeypatch.setattr(pool, "Arena", lambda *args: arenas.append(args) or Arena(*args))
    u, f = given()
    with cy.resident(program(), backend="mpi", ranks=2, bind={"v": "u"}) as heat:
        heat.run(u=u, f=f)
        del sizes[:], arenas[:]
        heat.run()
        assert not arenas
        assert max(sizes) < 2000
        heat["v"]
        assert len(arenas) == 1


def test_ranks_that_die():
    u, f = given()
    with cy.resident(program(), backend="mpi", ranks=3, bind={"v": "u"}) as heat:
        heat.run(u=u, f=f)
        from cyclotron.mpi import default_pool

        os.kill(default_pool(3).pids[1], signal.SIGKILL)
        with pytest.raises(cy.ExecutionError) as caught:
            heat.run()
        assert caught.value.code == "CYC732"
        with pytest.raises(cy.ExecutionError) as caught:
            heat.run()
        assert caught.value.code == "CYC736"


def test_tiles():
    @cy.kernel
    def square(A):
        B = cy.empty_like(A)
        n = A.shape[0]
        for i in range(n):
            for j in range(n):
                B[i, j] = sum(A[i, k] @ A[k, j] for k in range(n))
        return B

    a = np.random.default_rng(1).integers(-2, 3, (6, 6)).astype(float)
    compiled = square.compile(cy.blocked(a, (2, 2)), schedule=cy.Schedule().space("i", "j").time("k"))
    with cy.resident(compiled, backend="mpi", ranks=2, bind={"B": "A"}) as power:
        power.run()
        power.run()
        assert np.array_equal(power["B"], np.linalg.matrix_power(a, 4))


@pytest.mark.parametrize("ranks", [2, 3])
def test_under_a_launcher(ranks):
    """Each rank has the whole result, and between runs only elements at the cuts are sent."""
    u, f = given()
    lines = launch(
        ranks,
        """
        import test_resident_on_ranks as here
        import cyclotron as cy
        u, f = here.given()
        with cy.resident(here.program(), backend="mpi", bind={"v": "u"}) as heat:
            heat.run(u=u, f=f)
            for _ in range(4):
                heat.run()
            fed = next(entry for entry in heat.account if entry["what"] == "feed")
            report(heat["v"].tobytes().hex() + f" {fed['messages']} {fed['bytes']}")
        """,
    )
    expected = numpy_steps(u, f, 5).tobytes().hex()
    assert len(lines) == ranks
    for line in lines:
        values, messages, size = line.split()
        assert values == expected
        assert int(messages) <= 4 * 2 * (ranks - 1)
        assert int(size) == 8 * int(messages)
