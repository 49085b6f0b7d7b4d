"""Space and time as affine forms, folded grids and rotated reductions: every backend equals NumPy."""

import kernels
import numpy as np
import pytest
from corpus import factorizations

import cyclotron as cy
from cyclotron.schedule import recipes as schedules

MESH = cy.Machine(pe=cy.PE(memory=1 << 20))
HEXAGONAL = cy.Machine(topology="hexagonal", pe=cy.PE(memory=1 << 20))
TORUS = cy.Machine(topology="torus", pe=cy.PE(memory=1 << 20))
S = cy.Schedule()
IJ = S.space("i", "j")

PLACEMENTS = {
    "hexagonal array": (S.space("i-k", "j-k"), HEXAGONAL),
    "hexagonal array, i+j+k in time": (S.space("i-k", "j-k").time("i+j+k"), HEXAGONAL),
    "negative direction": (S.space("-i", "j"), MESH),
    "negative directions": (S.space("-i", "-k"), MESH),
    "time backwards": (S.space("j", "k").time("-i"), MESH),
    "wavefronts in time": (IJ.time("i+j+k"), MESH),
    "skewed space": (S.space("i+j", "k"), MESH),
    "streams against the grid": (IJ.stream("A", along="-j").stream("B", along="-i"), MESH),
    "broadcast from the far side": (IJ.broadcast("A", along="-j").stream("B", along="-i"), MESH),
    "three dimensions": (S.space("i", "j", "k"), MESH),
    "three dimensions, broadcast": (schedules.johnson(kernels.matmul), MESH),
    "blocks": (IJ.fold(i=2, j=2), MESH),
    "blocks in one dimension": (IJ.fold(j=cy.block(3)), MESH),
    "dealt out": (IJ.fold(i=cy.cyclic(2), j=cy.cyclic(3)), TORUS),
    "blocks, weight stationary": (S.space("i", "k").prefetch("A").fold(i=2, k=2), MESH),
    "blocks, broadcast": (schedules.summa(kernels.matmul).fold(i=2, j=3), MESH),
    "dealt out, broadcast": (schedules.summa(kernels.matmul).fold(i=cy.cyclic(2), j=cy.cyclic(2)), TORUS),
    "blocks of three dimensions": (S.space("i", "j", "k").fold(i=2, j=2, k=2), MESH),
    "a smaller machine": (IJ, cy.Machine(grid=(2, 2), pe=cy.PE(memory=1 << 20))),
    "a machine of one PE": (IJ, cy.Machine(grid=(1, 1), pe=cy.PE(memory=1 << 20))),
}


def equals_numpy(program, expected):
    results = [cy.run(program, backend=backend) for backend in ("sim", "local")]
    for result in results:
        np.testing.assert_array_equal(result.output, expected)
    return results[0]


def integers(rng, *shape):
    return rng.integers(-4, 5, shape).astype(float)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 1), (4, 4, 4), (5, 7, 4)], ids=str)
@pytest.mark.parametrize("name", PLACEMENTS)
def test_products(name, sizes):
    schedule, machine = PLACEMENTS[name]
    rows, columns, inner = sizes
    rng = np.random.default_rng(0)
    A, B = integers(rng, rows, inner), integers(rng, inner, columns)
    equals_numpy(kernels.matmul.compile(A, B, schedule=schedule, machine=machine), A @ B)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_cannon_keeps_all_pes_busy(n):
    """CY-093, E21: the torus needs n steps, all PEs at work; the array fed from two sides 3n - 2."""
    rng = np.random.default_rng(n)
    A, B = integers(rng, n, n), integers(rng, n, n)
    torus = equals_numpy(kernels.matmul.compile(A, B, schedule=schedules.cannon(kernels.matmul)), A @ B)
    fed_from_sides = schedules.output_stationary(kernels.matmul)
    fed = equals_numpy(kernels.matmul.compile(A, B, schedule=fed_from_sides), A @ B)
    assert torus.cycles == n
    assert fed.cycles == 3 * n - 2
    assert np.all(torus.utilization == 1.0)


def test_cannon_on_tiles():
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((30, 30)), rng.standard_normal((30, 30))
    program = kernels.matmul.compile(
        cy.blocked(A, (10, 10)), cy.blocked(B, (10, 10)), schedule=IJ.rotate("k", by=("i", "j"))
    )
    for backend in ("sim", "local"):
        np.testing.assert_allclose(cy.run(program, backend=backend).output, A @ B, rtol=1e-13, atol=1e-13)


def test_a_ring_of_rows():
    rng = np.random.default_rng(2)
    A, B = integers(rng, 5, 5), integers(rng, 5, 3)
    schedule = S.space("i").rotate("k", by="i")
    equals_numpy(kernels.matmul.compile(A, B, schedule=schedule, machine=TORUS), A @ B)


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
@pytest.mark.parametrize("fold", [cy.block, cy.cyclic])
def test_folded_solves(parts, fold):
    """A triangular domain on few PEs, in blocks and dealt out."""
    rng = np.random.default_rng(parts)
    n = 7
    L = np.tril(integers(rng, n, n), -1) + np.eye(n)
    X = integers(rng, n, 3)
    schedule = S.space("i").stream("X", along="i").fold(i=fold(parts))
    equals_numpy(kernels.solve_scalar.compile(L, L @ X, schedule=schedule, machine=TORUS), X)


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_folded_cholesky(parts):
    rng = np.random.default_rng(parts)
    n = 6
    L = np.tril(rng.integers(-2, 3, (n, n)).astype(float), -1) + np.eye(n)
    equals_numpy(kernels.cholesky_scalar.compile(L @ L.T, schedule=IJ.fold(i=parts, j=parts)), L)


@cy.kernel
def backward_solve(U, B):
    """U X = B with U upper triangular: X[i] needs those behind it."""
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = (B[i, r] - sum(U[i, j] * X[j, r] for j in range(i + 1, n))) / U[i, i]
    return X


def upper_system(n):
    rng = np.random.default_rng(3)
    U = np.triu(integers(rng, n, n), 1) + np.eye(n)
    return U, integers(rng, n, 4)


@pytest.mark.parametrize("schedule", [S, S.space("r"), S.space("r").time("-i", "j")], ids=str)
def test_time_runs_backwards_where_it_has_to(schedule):
    U, X = upper_system(5)
    program = backward_solve.compile(U, U @ X, schedule=schedule)
    assert "-i" in program.schedule.time_indices
    equals_numpy(program, X)


@cy.kernel
def pull(u, steps):
    for t in range(steps):
        u[1:-1] = u[2:] * 2
    return u


@pytest.mark.parametrize(("n", "steps", "pes"), [(4, 2, 1), (5, 3, 2), (6, 5, 2), (7, 4, 3)])
def test_steps_in_folded_space_beside_time_that_runs_backwards(n, steps, pes):
    u = integers(np.random.default_rng(n), n)
    program = pull.compile(u, steps, schedule=S.space("t"), machine=cy.Machine(grid=(pes,)))
    assert "-i" in program.schedule.time_indices
    equals_numpy(program, pull.reference(u, steps))


def test_values_travel_away_from_where_they_are_made():
    """X moves towards smaller i, to the rows that use it."""
    U, X = upper_system(6)
    program = backward_solve.compile(U, U @ X, schedule=S.space("i", "r"))
    equals_numpy(program, X)


@pytest.mark.parametrize("n", [1, 4, 7])
def test_opposed_streams_in_blocks_run_one_after_the_other(n):
    """In one loop over a block, each of two neighbours would wait for the other within one step."""
    A, B = integers(np.random.default_rng(2), n, n), integers(np.random.default_rng(3), n, n)
    schedule = S.space("i-k", "j-k").fold({"i-k": 3, "j-k": 2})
    machine = cy.Machine(topology="hexagonal", link=cy.Link(depth=64))
    equals_numpy(kernels.matmul.compile(A, B, schedule=schedule, machine=machine), A @ B)


@cy.kernel
def transposed_square(A):
    n = A.shape[0]
    T = cy.empty((n, n))
    B = cy.empty((n, n))
    for i in range(n):
        for j in range(n):
            T[i, j] = A[i, j] * A[i, j]
            B[i, j] = T[j, i]
    return B


def test_a_value_that_comes_from_many_blocks_is_refused():
    A = integers(np.random.default_rng(6), 12, 12)
    equals_numpy(transposed_square.compile(A, schedule=IJ.fold(i=6)), (A * A).T)
    with pytest.raises(cy.ScheduleError) as caught:
        transposed_square.compile(np.ones((24, 24)), schedule=IJ.fold(i=12))
    assert caught.value.code == "CYC316"


def test_a_value_that_is_kept_while_its_place_changes():
    """In a folded skewed line an element stays in its PE while both of its coordinates in time move."""
    rng = np.random.default_rng(4)
    A, B = integers(rng, 3, 2), integers(rng, 2, 4)
    for fold in (cy.block(3), cy.block(2), cy.cyclic(2)):
        schedule = S.space("j+i").fold({"j+i": fold})
        deep = cy.Machine(topology="torus", link=cy.Link(depth=64), pe=cy.PE(memory=1 << 20))
        equals_numpy(kernels.matmul.compile(A, B, schedule=schedule, machine=deep), A @ B)


def test_a_broadcast_across_a_skewed_fold_is_refused():
    schedule = IJ.time("j+k").broadcast("A", along="j").fold(j=2)
    with pytest.raises(cy.ScheduleError) as caught:
        kernels.matmul.compile(np.ones((3, 4)), np.ones((4, 4)), schedule=schedule)
    assert caught.value.code == "CYC316"


@cy.kernel
def written_ahead(A, steps):
    """The first row belongs to the step before the first."""
    n = A.shape[0]
    U = cy.empty((steps + 1, n))
    for i in range(n):
        U[0, i] = A[i]
    for t in range(steps):
        for i in range(n):
            if i == 0 or i == n - 1:
                U[t + 1, i] = A[i]
            else:
                U[t + 1, i] = U[t, i - 1] + U[t, i] + U[t, i + 1]
    return U


@pytest.mark.parametrize("schedule", [None, S, S.space("i"), S.space("t")], ids=str)
def test_rows_written_ahead(schedule):
    data = np.arange(5.0)
    equals_numpy(written_ahead.compile(data, 3, schedule=schedule), written_ahead.reference(data, 3))


@cy.kernel
def counting_down(s):
    """The zeros are numbers that are known wherever they are used."""
    n = s.shape[0]
    N = cy.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            N[i, j] = s[i] + N[i + 1, j]
    return N


@cy.kernel
def pivots(W):
    """All points of a step need one element of the step before."""
    n = W.shape[0]
    D = cy.empty((n + 1, n))
    for i in range(n):
        D[0, i] = W[i]
    for k in range(n):
        for i in range(n):
            D[k + 1, i] = D[k, i] + D[k, k]
    return D


@pytest.mark.parametrize("schedule", [None, S], ids=str)
@pytest.mark.parametrize("kernel", [counting_down, pivots], ids=lambda kernel: kernel.name)
def test_values_that_come_from_elsewhere_in_time(kernel, schedule):
    data = np.arange(5.0)
    equals_numpy(kernel.compile(data, schedule=schedule), kernel.reference(data))


@cy.kernel
def pairing(s):
    """Nussinov's: zeros that are operands of three kinds, passed on in the step in which they are made."""
    n = s.shape[0]
    N = cy.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            split = max(N[i, k] + N[k + 1, j] for k in range(i, j))
            N[i, j] = cy.maximum(cy.maximum(N[i + 1, j], N[i, j - 1]), split + s[i] * s[j])
    return N


@pytest.mark.parametrize("schedule", [None, S, S.space("i"), S.space("j")], ids=str)
def test_known_numbers_are_passed_on(schedule):
    data = np.array([1.0, 2.0, 0.0, 3.0, 1.0])
    equals_numpy(pairing.compile(data, schedule=schedule), pairing.reference(data))


def test_a_broadcast_along_a_diagonal_is_refused():
    with pytest.raises(cy.LegalityError) as caught:
        kernels.matmul.compile(np.ones((3, 3)), np.ones((3, 3)), schedule=S.space("j-i", "i").broadcast("B"))
    assert caught.value.code == "CYC224"


@pytest.mark.parametrize("size", [2, 6, 9])
def test_classes_in_steps_that_cross_each_other(size):
    """Rows dealt out in turn: PEs that do the same are told by remainders and bounds of several kinds."""
    A = np.eye(size) * size + np.arange(size)[:, None] + np.arange(size)
    program = factorizations.ldl.compile(A, schedule=S.space("i").fold(i=cy.cyclic(4)), machine=TORUS)
    expected = factorizations.ldl.reference(A)
    for backend in ("sim", "local"):
        for output, array in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(output, array)
    assert cy.prove(program).ok


def test_a_rotation_on_a_folded_grid_is_refused():
    with pytest.raises(cy.ScheduleError) as caught:
        kernels.matmul.compile(
            np.ones((4, 4)), np.ones((4, 4)), schedule=S.space("i").rotate("k", by="i").fold(i=2)
        )
    assert caught.value.code == "CYC317"


def test_a_broadcast_from_the_far_end_of_a_fold_is_refused():
    schedule = IJ.broadcast("A", along="-j").fold(j=2)
    with pytest.raises(cy.ScheduleError) as caught:
        kernels.matmul.compile(np.ones((3, 4)), np.ones((4, 4)), schedule=schedule)
    assert caught.value.code == "CYC316"


@cy.kernel
def scattered(A, B):
    """Each column has an element of A of its own, which a feeder sends it."""
    n = B.shape[0]
    X = cy.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            X[i, j] = A[2 * j] * 2
        for j in range(i + 1, n):
            X[i, j] = B[j]
    return X


@pytest.mark.parametrize("n", [3, 5, 6])
@pytest.mark.parametrize("fold", [cy.block(2), cy.block(3), cy.cyclic(2)], ids=str)
def test_a_feeder_serves_its_own_pe_in_a_fold(n, fold):
    A, B = np.arange(2.0 * n), np.arange(float(n))
    schedule = S.space("j", "i").broadcast("A", along="-j").fold(j=fold)
    equals_numpy(scattered.compile(A, B, schedule=schedule, machine=TORUS), scattered.reference(A, B))


@cy.kernel
def mirrored_halves(B, C):
    n = C.shape[0]
    X = cy.empty((n, n))
    for i in range(n):
        for j in range(i):
            X[j, i] = B[2 * i]
        for j in range(i, n):
            X[j, i] = C[i]
    return X


def test_steps_without_affine_loops_are_refused():
    schedule = S.space("j+i").time("j").prefetch("B").prefetch("C")
    with pytest.raises(cy.LegalityError) as caught:
        mirrored_halves.compile(np.ones(7), np.ones(3), schedule=schedule)
    assert caught.value.code == "CYC226"
