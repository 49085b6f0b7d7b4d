"""Programs whose tensors stay in the PEs between runs: the same numbers, and only what is new is moved."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def cg_step(A, x, r, p, rho):
    n = x.shape[0]
    q = cy.empty_like(x)
    x1 = cy.empty_like(x)
    r1 = cy.empty_like(x)
    p1 = cy.empty_like(x)
    rho1 = cy.empty_like(rho)
    for i in range(n):
        q[i] = sum(A[i, j] * p[j] for j in range(n))
    pq = sum(p[i] * q[i] for i in range(n))
    for i in range(n):
        x1[i] = x[i] + rho[0] / pq * p[i]
        r1[i] = r[i] - rho[0] / pq * q[i]
    rho1[0] = sum(r1[i] * r1[i] for i in range(n))
    for i in range(n):
        p1[i] = r1[i] + rho1[0] / rho[0] * p[i]
    return x1, r1, p1, rho1


BOUND = {"x1": "x", "r1": "r", "p1": "p", "rho1": "rho"}


def system(n=8):
    rng = np.random.default_rng(3)
    m = rng.standard_normal((n, n))
    b = rng.standard_normal(n)
    return {"A": m @ m.T + n * np.eye(n), "x": np.zeros(n), "r": b, "p": b.copy(), "rho": np.array([b @ b])}


def separate(program, given, steps, **options):
    """The states of separate runs, and their results."""
    results = []
    state = dict(given)
    for _ in range(steps):
        results.append(cy.run(program, *(state[name] for name in ("A", "x", "r", "p", "rho")), **options))
        state |= {name: results[-1].outputs[output] for output, name in BOUND.items()}
    return state, results


@pytest.fixture(scope="module")
def program():
    specs = (cy.spec(value.shape) for value in system().values())
    memory = cy.Memory(latency=10, serves=":")
    return cg_step.compile(*specs, machine=cy.Machine(memories={"dram": memory}))


@pytest.fixture(scope="module")
def expected(program):
    return separate(program, system(), 5, backend="local")[0]


@pytest.mark.parametrize("backend", ["local", "sim"])
def test_a_loop_of_the_host_gives_the_bits_of_separate_runs(program, expected, backend):
    with cy.resident(program, backend=backend, bind=BOUND) as cg:
        cg.run(**system())
        for _ in range(4):
            cg.run()
        for output, name in BOUND.items():
            assert cg[output].tobytes() == expected[name].tobytes()
    assert np.allclose(np.linalg.solve(system()["A"], system()["r"]), expected["x"], atol=1e-3)


def test_inputs_are_copied_when_they_are_given_and_outputs_when_they_are_fetched(program):
    given = system()
    with cy.resident(program, bind=BOUND) as cg:
        cg.run(**given)
        for _ in range(3):
            cg.run()
        cg["x1"]
        entries = {(entry["what"], entry["name"]): entry for entry in cg.account}
    assert {name: entries["give", name]["times"] for name in given} == dict.fromkeys(given, 1)
    assert entries["give", "A"]["bytes"] == given["A"].nbytes
    assert entries["run", ""]["times"] == 4
    assert entries["run", ""]["bytes"] == 0
    assert entries["feed", "x"]["times"] == 3
    assert entries["feed", "x"]["bytes"] == 0
    assert [name for what, name in entries if what == "fetch"] == ["x1"]


def test_what_is_given_is_a_copy(program, expected):
    given = system()
    with cy.resident(program, bind=BOUND) as cg:
        cg.run(**given)
        for value in given.values():
            value[...] = np.nan
        for _ in range(4):
            cg.run()
        fetched = cg["x1"]
        cg.run()
        assert fetched.tobytes() == expected["x"].tobytes()


def test_a_memory_is_asked_for_what_is_new_alone(program):
    _, runs = separate(program, system(), 3, backend="sim")
    with cy.resident(program, backend="sim", bind=BOUND) as cg:
        first = cg.run(**system())
        cycles = [first.cycles]
        second = cg.run()
        third = cg.run(A=system()["A"])
        before = cg.cycles
        cg["x1"]
        fetch = cg.cycles - before
    loaded = [int(result.stats["words_loaded"].sum()) for result in (first, second, third)]
    assert loaded[0] == int(runs[0].stats["words_loaded"].sum())
    assert loaded[1] == 0
    assert 0 < loaded[2] < loaded[0]
    assert second.cycles < third.cycles < runs[1].cycles
    assert cycles[0] <= runs[0].cycles  # its outputs stay
    assert int(second.stats["words_stored"].sum()) == 0
    moved = runs[1].stats["words_loaded"] + runs[1].stats["words_stored"]
    assert np.array_equal(second.stats["words_resident"], moved)
    assert not runs[1].stats["words_resident"].any()
    assert sum(port["loads"] for port in second.stats["memory_ports"]) == 0
    assert 8 <= fetch < first.cycles  # 8 words at one a cycle and what the latency adds, and nothing else
    for cause in ("busy", "stall_empty", "stall_full", "stall_memory", "stall_control", "idle"):
        assert (second.stats[cause] >= 0).all()


def test_time_without_memories_is_that_of_separate_runs():
    specs = [cy.spec(value.shape) for value in system().values()]
    plain = cg_step.compile(*specs)
    _, runs = separate(plain, system(), 2, backend="sim")
    with cy.resident(plain, backend="sim", bind=BOUND) as cg:
        assert [cg.run(**system()).cycles, cg.run().cycles] == [result.cycles for result in runs]


def test_room_for_what_stays(golden_refusal):
    @cy.kernel
    def scale(A, s):
        B = cy.empty_like(A)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = A[i, j] * s[0]
        return B

    def on(memory):
        schedule = cy.Schedule().space("i").time("j")
        return scale.compile(
            cy.spec((2, 64)), cy.spec((1,)), schedule=schedule, machine=cy.Machine(pe=cy.PE(memory=memory))
        )

    used = on(1 << 16).memory_bytes
    needed = used + 64 * 8 * 2 + 8  # a row of A, a row of B, and s
    with cy.resident(on(needed), backend="sim") as kept:
        kept.run(A=np.ones((2, 64)), s=np.ones(1))
    golden_refusal(
        "no-room-in-a-pe", cy.CapacityError, "CYC505", lambda: cy.resident(on(needed - 8), backend="sim")
    )


def test_the_memory_of_a_pe_is_what_its_elements_take_once():
    @cy.kernel
    def total(x):
        y = cy.empty_like(x)
        for i in range(x.shape[0]):
            y[i] = sum(x[j] for j in range(x.shape[0]))
        return y

    program = total.compile(np.ones(4), schedule=cy.Schedule().space("i").time("j"))
    with cy.resident(program, backend="sim") as kept:
        assert kept.run().output.tolist() == [4.0] * 4


def test_outputs_of_a_result_are_those_of_its_run(program):
    with cy.resident(program, bind=BOUND) as cg:
        first = cg.run(**system())
        x1 = first.outputs["x1"]
        assert set(first.outputs) == set(BOUND)
        assert len(pickle.loads(pickle.dumps(first)).outputs) == 4
        cg.run()
        assert first.outputs["x1"] is x1
        other = cg.run()
        cg.run()
        with pytest.raises(cy.ExecutionError, match="run 3 is no more") as caught:
            other.outputs["x1"]
        assert caught.value.code == "CYC743"


def test_a_run_that_fails_leaves_its_inputs():
    @cy.kernel
    def factor(A):
        L = cy.empty_like(A)
        L[0, 0] = cy.linalg.cholesky(A[0, 0])
        return L

    program = factor.compile(cy.blocked(np.eye(4), (4, 4)))
    with cy.resident(program) as kept:
        assert np.array_equal(kept.run().output, np.eye(4))  # those of the compile
        with pytest.raises(cy.ExecutionError) as caught:
            kept.run(A=-np.eye(4))
        assert caught.value.code == "CYC701"
        with pytest.raises(cy.ExecutionError) as caught:
            kept["L"]
        assert caught.value.code == "CYC743"
        with pytest.raises(cy.ExecutionError) as caught:
            kept.run()  # the same again
        assert caught.value.code == "CYC701"
        assert np.array_equal(kept.run(A=4 * np.eye(4)).output, 2 * np.eye(4))


def test_a_loop_that_ends_and_its_flag():
    @cy.kernel(max_steps=50)
    def halve(x):
        y = x.copy()
        while cy.max(y) > 1:
            y[:] = y / 2
        return y

    program = halve.compile(cy.spec((3,)))
    name = next(t["name"] for t in program.tensors if t["role"] == "output")
    with cy.resident(program) as kept:
        assert kept.run(x=np.full(3, 8.0)).output.tolist() == [1.0] * 3
        with pytest.raises(cy.ExecutionError) as caught:
            kept.run(x=np.full(3, 2.0**60))
        assert caught.value.code == "CYC719"
        assert set(caught.value.result.outputs) == {name}


def test_warnings_of_what_came_out_of_the_run_before():
    @cy.kernel
    def invert(x):
        y = cy.empty_like(x)
        for i in range(x.shape[0]):
            y[i] = 1 / (x[i] - 1)
        return y

    with cy.resident(invert.compile(cy.spec((2,))), bind={"y": "x"}) as kept:
        kept.run(x=np.full(2, 2.0))
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            kept.run()


REFUSALS = {
    "resident-input-of-no-name": ("CYC743", lambda kept: kept.run(B=np.ones(2))),
    "resident-input-never-given": ("CYC710", lambda kept: kept.run()),
    "resident-input-of-another-shape": ("CYC710", lambda kept: kept.run(x=np.ones(3))),
    "resident-input-of-another-dtype": ("CYC710", lambda kept: kept.run(x=np.ones(2, np.float32))),
    "resident-output-before-a-run": ("CYC743", lambda kept: kept["result"]),
    "resident-output-of-no-name": ("CYC743", lambda kept: kept["x"]),
    "resident-bound-to-another-shape": ("CYC744", lambda kept: kept.bind("result", "A")),
    "resident-bound-twice": ("CYC744", lambda kept: [kept.bind("result", name) for name in "xy"]),
    "resident-no-more": ("CYC743", lambda kept: [kept.close(), kept.run()]),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name, golden_refusal):
    @cy.kernel
    def step(A, x, y):
        return A @ x + y

    program = step.compile(cy.spec((2, 2)), cy.spec((2,)), cy.spec((2,)))
    code, call = REFUSALS[name]
    error = cy.ExecutionError if code == "CYC743" else cy.ShapeError
    with cy.resident(program) as kept:
        golden_refusal(name, error, code, lambda: call(kept))


def test_a_backend_that_keeps_nothing(program):
    with pytest.raises(cy.ExecutionError) as caught:
        cy.resident(program, backend="numpy")
    assert caught.value.code == "CYC733"
