"""Stencils, rings and sweeps, whose PEs exchange values to and fro and run side by side, against NumPy."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def smoothed(u):
    for _ in range(7):
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        u = new
    return u


@cy.kernel
def wave(u, v):
    for _ in range(9):
        new = u.copy()
        new[1:-1] = 2 * u[1:-1] - v[1:-1] + (u[2:] - 2 * u[1:-1] + u[:-2]) / 4
        v = u
        u = new
    return u


@cy.kernel
def life(u):
    for _ in range(5):
        new = u.copy()
        sums = (
            u[:-2, :-2] + u[:-2, 1:-1] + u[:-2, 2:] + u[1:-1, :-2]
            + u[1:-1, 2:] + u[2:, :-2] + u[2:, 1:-1] + u[2:, 2:]
        )  # fmt: skip
        new[1:-1, 1:-1] = cy.where((sums == 3) | ((sums == 2) & (u[1:-1, 1:-1] == 1)), 1, 0)
        u = new
    return u


@cy.kernel
def placed(u):
    """Adds the number of each place, and of each step, which PEs find by themselves."""
    n, m = u.shape
    v = cy.empty((6, n, m), dtype="int64")
    for t in range(6):
        for i in range(n):
            for j in range(m):
                v[t, i, j] = (
                    u[i, j] if t == 0 else v[t - 1, (i + 1) % n, j] + v[t - 1, i, (j + m - 1) % m] * i + t * j
                )
    return v


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


def smoothed_by_numpy(u):
    u = u.copy()
    for _ in range(7):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


def wave_by_numpy(u, v):
    for _ in range(9):
        new = u.copy()
        new[1:-1] = 2 * u[1:-1] - v[1:-1] + (u[2:] - 2 * u[1:-1] + u[:-2]) / 4
        u, v = new, u
    return u


def life_by_numpy(u):
    for _ in range(5):
        near = np.lib.stride_tricks.sliding_window_view(u, (3, 3)).sum((2, 3))
        new = u.copy()
        new[1:-1, 1:-1] = (near == 3) | ((near == 4) & (u[1:-1, 1:-1] == 1))
        u = new
    return u


PLANE, LINE = cy.Schedule().space("i", "j"), cy.Schedule().space("i")
CANNON = cy.schedules.cannon(product)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("backend", ["local", "sim"])
@pytest.mark.parametrize(
    ("kernel", "right", "shapes", "dtype", "schedule"),
    [
        (smoothed, smoothed_by_numpy, [(20, 23)], "float64", PLANE),
        (smoothed, smoothed_by_numpy, [(20, 23)], "float32", PLANE),
        (smoothed, smoothed_by_numpy, [(21, 22)], "complex128", PLANE),
        (smoothed, smoothed_by_numpy, [(44, 40)], "float64", PLANE.fold(i=11, j=10)),
        (smoothed, smoothed_by_numpy, [(44, 40)], "float64", PLANE.fold(i=cy.cyclic(11), j=20)),
        (wave, wave_by_numpy, [100, 100], "float64", LINE),
        (life, life_by_numpy, [(17, 30)], "int64", PLANE),
        (life, life_by_numpy, [(17, 30)], "int8", PLANE),
        (product, np.matmul, [(24, 24), (24, 24)], "float64", CANNON),
    ],
)
def test_values_are_those_of_numpy(kernel, right, shapes, dtype, schedule, backend, threads):
    rng = np.random.default_rng(sum(map(ord, dtype)))
    values = [rng.integers(0, 2 if kernel is life else 50, shape).astype(dtype) for shape in shapes]
    program = kernel.compile(*values, schedule=schedule)
    expected = right(*values)
    run = cy.run(
        program, backend=backend, threads=threads, **({"event_limit": 0} if backend == "sim" else {})
    )
    assert run.output.dtype == expected.dtype
    np.testing.assert_allclose(run.output, expected, rtol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("backend", ["local", "sim"])
def test_places_and_steps_are_numbers_of_each_pe(backend):
    u = np.random.default_rng(0).integers(-9, 9, (12, 20))
    program = placed.compile(u, schedule=PLANE, machine=cy.Machine(topology="torus"))
    i, j = np.indices(u.shape)
    expected = [u]
    for t in range(1, 6):
        expected.append(np.roll(expected[-1], -1, 0) + np.roll(expected[-1], 1, 1) * i + t * j)
    run = cy.run(program, backend=backend)
    np.testing.assert_array_equal(run.output, expected)


@cy.kernel
def shrinking(u):
    for _ in range(6):
        new = u.copy()
        new[1:-1] = u[1:-1] ** (u[:-2] + u[2:])
        u = new
    return u


@pytest.mark.parametrize("backend", ["local", "sim"])
def test_a_pe_that_fails_is_named(backend):
    """No whole number has a negative power, which one of 200 PEs meets in the first step."""
    u = np.ones(200, "int64")
    u[77], u[78] = 2, -3
    program = shrinking.compile(u, schedule=LINE)
    with pytest.raises(cy.ExecutionError, match=r"PE \(77\)|PE \(76\)"):
        cy.run(program, backend=backend)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("design", ["plane", "blocks", "cyclic", "line", "cannon"])
def test_time_is_that_of_pe_by_pe(design, seed):
    """Of links and operators with random costs: the engine that takes a PE at a time measures the same."""
    rng = np.random.default_rng(seed)
    plane = cy.spec((44, 40))
    kernel, arguments, schedule = {
        "plane": (smoothed, [plane], PLANE),
        "blocks": (smoothed, [plane], PLANE.fold(i=int(rng.integers(2, 9)), j=8)),
        "cyclic": (smoothed, [plane], PLANE.fold(i=cy.cyclic(11), j=int(rng.integers(2, 9)))),
        "line": (wave, [cy.spec(60), cy.spec(60)], LINE),
        "cannon": (product, [cy.spec((20, 20)), cy.spec((20, 20))], CANNON),
    }[design]
    machine = cy.Machine(
        topology="torus" if design == "cannon" else "mesh",
        link=cy.Link(int(rng.integers(1, 5)), int(rng.integers(4)), depth=int(rng.choice([3, 17, 400]))),
        pe=cy.PE(
            memory=1 << 20, cycles={name: int(rng.integers(5)) for name in ("add", "divide", "multiply")}
        ),
    )
    program = kernel.compile(*arguments, schedule=schedule, machine=machine)
    one, other = (
        cy.run(program, backend="sim", functional=False, event_limit=0, engine=engine)
        for engine in ("auto", "general")
    )
    assert one.cycles == other.cycles
    for name in ("busy", "stall_empty", "stall_full", "idle"):
        np.testing.assert_array_equal(one.stats[name], other.stats[name])
    assert [dict(each) for each in one.stats["channels"]] == [dict(each) for each in other.stats["channels"]]
    for kind, counts in one.stats["instructions_by_kind"].items():
        np.testing.assert_array_equal(counts, other.stats["instructions_by_kind"][kind])
