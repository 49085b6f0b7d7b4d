"""Values that PEs need from others that no link joins pass the PEs between, hop by hop."""

import warnings

import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()


@cy.kernel
def product_and_transpose(A, B):
    C = A @ B
    return C.T + C


@cy.kernel
def product(A, B):
    return A @ B


@cy.kernel
def doubled_and_transpose(A):
    B = A * 2
    return B.T + B


@cy.kernel
def transposed_twice(A):
    B = A * 2
    C = B.T + 3 * B
    return C.T - B


@cy.kernel
def transposed_and_turned(A, B):
    C = A * 2
    return C.T * 3 + B[::-1, ::-1]


@cy.kernel
def transposed_steps(u, n):
    for t in range(n):
        u = u.T + 1
    return u


@cy.kernel
def reversed_steps(u, n):
    for t in range(n):
        u = u[::-1] + 1
    return u


@cy.kernel
def turned_steps(u, n):
    for t in range(n):
        u = u[::-1, ::-1] + 1
    return u


@cy.kernel
def rolled_steps(u, n):
    for t in range(n):
        u = cy.roll(u, 12) + 1
    return u


@cy.kernel
def differences(u):
    v = u * 2
    return v[20:] - v[:-20]


@cy.kernel
def power(A, x, n):
    """Makes the next vector in the last column, and needs it in the first row."""
    for t in range(n):
        x = A @ x
    return x


@cy.kernel
def row_sums_by_column(A):
    B = A * 2
    return B - cy.sum(B, axis=1)[None, :]


@cy.kernel
def conjugate_gradients(A, r, n):
    x = cy.zeros(r.shape[0])
    p = r.copy()
    rr = cy.sum(r * r)
    for t in range(n):
        q = A @ p
        a = rr / cy.sum(p * q)
        x = x + a * p
        r = r - a * q
        new = cy.sum(r * r)
        p = r + (new / rr) * p
        rr = new
    return x


@cy.kernel
def wave(u, source, n):
    """Has a point source and a probe."""
    probe = cy.empty(n)
    for t in range(n):
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        new[3, 4] += source[t]
        probe[t] = new[5, 2]
        u = new
    return u, probe


def integers(*shape):
    return np.random.default_rng(7).integers(-3, 9, shape).astype(float)


def cycles(program):
    return cy.run(program, backend="sim", functional=False).cycles


def matrix_cases(n):
    A, B = integers(n, n), integers(n, n)
    return [
        (product_and_transpose, (A, B)),
        (transposed_steps, (A, 3)),
        (turned_steps, (A, 3)),
        (row_sums_by_column, (A,)),
        (power, (A, integers(n), 2)),
    ]


MACHINES = [
    cy.Machine(),
    cy.Machine(topology="torus"),
    cy.Machine(grid=(9, 9), topology="torus"),
    cy.Machine(grid=(2, 4)),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("case", range(5))
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_matrices_on_every_grid(n, case, machine):
    kernel, arguments = matrix_cases(n)[case]
    program = kernel.compile(*arguments, schedule=S.space("i", "j"), machine=machine)
    cy.check(program, backends=("sim", "local"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "machine", [cy.Machine(), cy.Machine(topology="ring"), cy.Machine(grid=(7,))], ids=str
)
@pytest.mark.parametrize("n", [13, 24, 25, 40])
@pytest.mark.parametrize("kernel", [rolled_steps, reversed_steps], ids=str)
def test_vectors_on_lines_and_rings(kernel, n, machine):
    program = kernel.compile(integers(n), 3, schedule=S.space("i"), machine=machine)
    cy.check(program, backends=("sim", "local"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "machine",
    [
        cy.Machine(grid=(4, 4)),
        cy.Machine(grid=(3, 3), link=cy.Link(depth=1)),
        cy.Machine(grid=(2, 4), link=cy.Link(latency=3)),
        cy.Machine(grid=(3, 2), link=cy.Link(depth=1, latency=2)),
        cy.Machine(grid=(4, 2), topology="torus"),
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [5, 12, 13])
@pytest.mark.parametrize(
    "kernel",
    [doubled_and_transpose, transposed_twice, transposed_steps, transposed_and_turned, turned_steps],
    ids=str,
)
def test_values_of_folded_pes_go_in_stages(kernel, n, machine):
    """On links of every depth, whatever blocks are left at the edges."""
    more = {transposed_and_turned: [integers(n, n)], transposed_steps: [3], turned_steps: [2]}.get(kernel, [])
    program = kernel.compile(integers(n, n), *more, schedule=S.space("i", "j"), machine=machine)
    cy.check(program, backends=("sim", "local"))


@pytest.mark.parametrize("index", ["i", "j"])
def test_rows_become_columns(index):
    program = transposed_steps.compile(integers(5, 5), 3, schedule=S.space(index))
    cy.check(program, backends=("sim", "local"))


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks(ranks):
    A = integers(6, 6)
    for kernel, arguments in [
        (product_and_transpose, (A, A)),
        (transposed_steps, (A, 3)),
        (reversed_steps, (A[0], 3)),
    ]:
        program = kernel.compile(*arguments)
        result = cy.run(program, backend="mpi", ranks=ranks)
        np.testing.assert_array_equal(result.output, kernel.reference(*arguments))


def test_a_solver_with_its_matrix_over_the_grid():
    A = integers(6, 6)
    A = A @ A.T + 6 * np.eye(6)
    program = conjugate_gradients.compile(A, integers(6), 4, schedule=S.space("i", "j"))
    np.testing.assert_allclose(
        cy.run(program, backend="sim").output, conjugate_gradients.reference(A, integers(6), 4), rtol=1e-9
    )
    assert program.grid == (6, 6)


@pytest.mark.parametrize(
    ("kernel", "arguments", "grid"),
    [
        (product_and_transpose, (integers(8, 8), integers(8, 8)), (8, 8)),
        (transposed_steps, (integers(8, 8), 3), (8, 8)),
        (reversed_steps, (integers(30), 4), (30,)),
        (rolled_steps, (integers(30), 4), (30,)),
        (differences, (integers(60),), (60,)),
    ],
    ids=["product", "transposed", "reversed", "rolled", "differences"],
)
def test_the_default_is_as_wide_as_the_arrays(kernel, arguments, grid):
    with warnings.catch_warnings():
        warnings.simplefilter("error", cy.PerformanceWarning)
        program = kernel.compile(*arguments)
    assert program.grid == grid
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, kernel.reference(*arguments))


@pytest.mark.parametrize("n", [8, 32])
def test_a_transpose_takes_as_many_cycles_as_its_longest_way_has_hops(n):
    steps = 6
    program = transposed_steps.compile(cy.spec((n, n)), steps, schedule=S.space("i", "j"))
    assert cycles(program) <= steps * (2 * n + 1)


@pytest.mark.parametrize(
    ("n", "grid"), [(256, (16, 16)), (64, (4, 4)), (30, (6, 6)), (64, (2, 4)), (64, (4, 2))], ids=str
)
@pytest.mark.parametrize("steps", [0, 3])
def test_an_exchange_takes_at_most_thrice_what_the_larger_of_bisection_and_hops_does(n, grid, steps):
    """Half of the words on each side of the middle cross it, along the shorter side of the grid."""
    kernel, more = (transposed_steps, [steps]) if steps else (doubled_and_transpose, [])
    program = kernel.compile(cy.spec((n, n)), *more, machine=cy.Machine(grid=grid))
    assert program.grid == grid
    computed = (steps or 2) * n * n // (grid[0] * grid[1])
    bound = 3 * max(n * n // 4 // min(grid), sum(grid) - 2) * max(steps, 1)
    assert cycles(program) <= bound + computed


def test_an_exchange_of_a_product_takes_as_long_as_any():
    machine, shape = cy.Machine(grid=(8, 8)), cy.spec((64, 64))
    both = cycles(product_and_transpose.compile(shape, shape, schedule=S.space("i", "j"), machine=machine))
    assert (
        both <= cycles(product.compile(shape, shape, schedule=S.space("i", "j"), machine=machine)) + 64 + 384
    )


def test_what_stages_have_no_room_for_goes_value_by_value():
    n = 64
    spec, schedule = cy.spec((n, n)), S.space("i", "j")
    roomy, tight = (
        doubled_and_transpose.compile(
            spec, schedule=schedule, machine=cy.Machine(grid=(4, 4), pe=cy.PE(memory=memory))
        )
        for memory in (8192, 6144)
    )
    assert 2 * cycles(roomy) < cycles(tight)
    A = integers(n, n)
    np.testing.assert_array_equal(cy.run(tight, A, backend="sim").output, 2 * (A + A.T))


def test_a_shift_takes_as_many_cycles_as_hops_whatever_the_length():
    for n in (60, 600):
        assert cycles(differences.compile(cy.spec((n,)), schedule=S.space("i"))) <= 24


def test_a_ring_leads_the_short_way_round():
    line = rolled_steps.compile(cy.spec((100,)), 4, schedule=S.space("i"))
    ring = rolled_steps.compile(
        cy.spec((100,)), 4, schedule=S.space("i"), machine=cy.Machine(topology="ring")
    )
    assert cycles(ring) <= 4 * 14 < cycles(line)


def test_the_classes_do_not_grow_with_the_grid():
    grids = [
        transposed_steps.compile(cy.spec((n, n)), 3, schedule=S.space("i", "j")).classes
        for n in (12, 40, 1000)
    ]
    assert len({len(classes) for classes in grids}) == 1


@pytest.mark.parametrize("n", [10, 24])
def test_a_point_source_and_a_probe_are_where_they_are(n):
    arguments = (integers(n, n), integers(5), 5)
    program = wave.compile(*arguments)
    assert program.grid == (n, n)
    result = cy.run(program, backend="sim")
    for found, expected in zip(result.outputs.values(), wave.reference(*arguments), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert result.cycles <= 7 * 5


def test_an_explanation_names_the_way_in_stages():
    program = doubled_and_transpose.compile(cy.spec((8, 8)), machine=cy.Machine(grid=(4, 4)))
    for axis in "ij":
        assert f"goes to its use in line 27 in stages, hop by hop along {axis}: PE" in str(program.explain())


def test_an_explanation_names_the_way():
    text = str(S.space("i", "j").explain(product_and_transpose, integers(8, 8), integers(8, 8)))
    for axis, neighbours in (("j", ("[i, j-1]", "[i, j+1]")), ("i", ("[i-1, j]", "[i+1, j]"))):
        for neighbour in neighbours:
            way = f"C goes to its use in line 16 hop by hop along {axis}"
            assert text.count(f"{way}: PE [i, j] receives it from PE {neighbour}") == 1


@cy.kernel
def ends_of_steps(u, n):
    for t in range(n):
        u = u * 0.5 + u[0] - u[-1]
    return u


@cy.kernel
def one_and_mirrored(u, n):
    for t in range(n):
        u = u * 0.5 + u[3] + u[::-1]
    return u


@cy.kernel
def rolled_and_mirrored(u, n):
    v = u * n
    w = v + cy.roll(v, 2) + v
    return v[::-1] + w + cy.roll(w, 3)


@cy.kernel
def transposed_and_mirrored(u, n):
    v = u * n
    return v.T + 0.5 * v[::-1] + v


@cy.kernel
def row_and_mirrored(u, n):
    v = u * n
    w = v + v[0]
    return v[::-1] + w[:, ::-1] + w[::-1, ::-1] + w


@pytest.mark.parametrize(
    ("kernel", "dimensions"),
    [
        (ends_of_steps, 1),
        (one_and_mirrored, 1),
        (rolled_and_mirrored, 1),
        (transposed_and_mirrored, 2),
        (row_and_mirrored, 2),
    ],
)
def test_values_that_meet_on_their_ways_have_ways_of_their_own(kernel, dimensions):
    """Each user of one took it from a neighbour in the same step, whose other value came from it."""
    n = (12, 8)[dimensions - 1]
    u = integers(*(n,) * dimensions)
    for topology in ("mesh", "torus"):
        machine = cy.Machine(topology=topology, grid=(n,) * dimensions)
        program = kernel.compile(u, 3, schedule=S.space(*"ij"[:dimensions]), machine=machine)
        assert program.grid == (n,) * dimensions
        for backend in ("sim", "local"):
            np.testing.assert_array_equal(cy.run(program, backend=backend).output, kernel.reference(u, 3))


@cy.kernel
def until_small(u, n):
    for t in range(n):
        u = u * 0.125 + (0.5 * u[0] + u[::-1] + u[5]) * 0.0625
        if cy.max(u) < 1:
            break
    return u


@cy.kernel
def row_and_column_sums(u, n):
    for t in range(n):
        u = u * 0.5 + 0.5 * u.T + u[0] + cy.sum(u, axis=0)
    return u


@pytest.mark.parametrize(("kernel", "dimensions"), [(until_small, 1), (row_and_column_sums, 2)])
def test_ways_of_a_folded_pe_come_before_its_points(kernel, dimensions):
    """Else its second point waits for a neighbour's first, which waits for what passes with the second."""
    n = (12, 8)[dimensions - 1]
    u = integers(*(n,) * dimensions)
    machine = cy.Machine(grid=(4,) * dimensions)
    program = kernel.compile(u, 3, schedule=S.space(*"ij"[:dimensions]), machine=machine)
    assert program.grid == (4,) * dimensions
    for backend in ("sim", "local"):
        np.testing.assert_allclose(
            cy.run(program, backend=backend).output, kernel.reference(u, 3), rtol=1e-13
        )


def test_a_refusal_for_distance_names_pes_that_are_apart():
    one_way = (cy.LinkMap("(i, j) -> (i, (j + 1) % 4)"), cy.LinkMap("(i, j) -> ((i + 1) % 4, j)"))
    machine = cy.Machine(topology=one_way, grid=(4, 4))
    with pytest.raises(cy.LegalityError, match=r"PE \(2, 0\) needs `u` from PE \(0, 2\)"):
        transposed_steps.compile(integers(12, 12), 3, schedule=S.space("i", "j"), machine=machine)
