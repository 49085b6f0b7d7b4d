"""Reductions in blocks, in space and in time: every backend equals NumPy, and the order is proven."""

import itertools

import kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron.schedule import recipes as schedules

S = cy.Schedule()
SIZES = [0, 1, 2, 3, 5, 8]


def integers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def triangle(n):
    return np.tril(integers(n, n, seed=n), -1) + np.eye(n)


def equals_numpy(kernel, *arguments, schedule):
    """Compile, prove and run; the outputs are those of the kernel as Python."""
    program = kernel.compile(*arguments, schedule=schedule)
    assert cy.prove(program).ok
    expected = kernel.reference(*arguments)
    results = [cy.run(program, backend=backend) for backend in ("sim", "local")]
    for result in results:
        outputs = list(result.outputs.values())
        for output, array in zip(
            outputs, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            np.testing.assert_array_equal(output, array)
    return program, results[0]


@cy.kernel
def matvec(A, x):
    y = cy.empty(A.shape[0], dtype=A.dtype)
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] * x[k] for k in range(A.shape[1]))
    return y


@cy.kernel
def dot(x, y):
    s = cy.empty(())
    s[()] = sum(x[k] * y[k] for k in range(x.shape[0]))
    return s


@cy.kernel
def extremes(A):
    high = cy.empty(A.shape[0])
    low = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        high[i] = max(A[i, k] for k in range(A.shape[1]))
        low[i] = min(A[i, k] for k in range(i, A.shape[1]))
    return high, low


@cy.kernel
def any_and_all(M):
    some = cy.empty(M.shape[0], dtype=bool)
    every = cy.empty(M.shape[0], dtype=bool)
    for i in range(M.shape[0]):
        some[i] = any(M[i, k] for k in range(M.shape[1]))
        every[i] = all(M[i, k] for k in range(i + 1))
    return some, every


@cy.kernel
def nested(A, B):
    D = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        D[i] = sum(A[i, k] * sum(B[k, m] for m in range(k + 1)) for k in range(B.shape[0])) - max(
            A[i, q] for q in range(A.shape[1])
        )
    return D


@cy.kernel
def two_sums(A, b):
    """Over k from 0 and from i, the second one of the results of the first."""
    n = A.shape[0]
    Y = cy.empty(n)
    Z = cy.empty(n)
    for i in range(n):
        Y[i] = sum(A[i, k] * b[k] for k in range(n))
    for i in range(n):
        Z[i] = 2 * sum(A[k, i] * Y[k] for k in range(i, n)) + b[i]
    return Y, Z


@cy.kernel
def running_maximum(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = max(x[k] for k in range(i + 1))
    return y


@cy.kernel
def squared(A):
    y = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        total = sum(A[i, k] for k in range(1, A.shape[1]))
        y[i] = total * total
    return y


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5, 100])
@pytest.mark.parametrize("inner", SIZES)
def test_matmul_in_layers(inner, parts):
    """Solomonik and Demmel's 2.5-D algorithm."""
    A, B = integers(3, inner), integers(inner, 4, seed=1)
    schedule = schedules.matmul_25d(kernels.matmul, layers=parts)
    program, _ = equals_numpy(kernels.matmul, A, B, schedule=schedule)
    if inner:
        length = -(-inner // min(parts, inner))
        assert program.grid == (3, 4, -(-inner // length))


@pytest.mark.parametrize(
    "schedule",
    [
        S,
        S.space("l"),
        S.space("i", "j"),
        S.space("i", "j").time("k", "l"),
        S.space("i", "l").prefetch("A"),
        S.space("i", "j", "l").broadcast("A", along="j").broadcast("B", along="i"),
        S.space("i", "j", "l").fold(l=2),
        S.space("i", "l").fold(l=cy.cyclic(2)),
    ],
    ids=str,
)
@pytest.mark.parametrize(("inner", "parts"), [(5, 2), (6, 3), (8, 5)])
def test_blocks_are_an_index_like_any_other(schedule, inner, parts):
    A, B = integers(3, inner), integers(inner, 2, seed=1)
    schedule = schedule.reassociate("k", parts=parts, into="l")
    equals_numpy(kernels.matmul, A, B, schedule=schedule)


@pytest.mark.parametrize("parts", [1, 2, 4, 8, 16])
def test_a_parallel_sum_takes_the_time_of_its_parts(parts):
    """Each PE adds n / P terms; then partial sums run along P - 1 links, one addition and one hop each."""
    n = 64
    schedule = S.reassociate("k", parts=parts, into="p").space("p")
    for kernel, arguments in (
        (dot, (integers(n), integers(n, seed=1))),
        (matvec, (integers(1, n), integers(n))),
    ):
        program, result = equals_numpy(kernel, *arguments, schedule=schedule)
        assert program.grid == (parts,)
        assert result.cycles == n // parts + 2 * (parts - 1)


def test_layers_shorten_a_product():
    A, B = integers(4, 48), integers(48, 3, seed=1)
    plane = kernels.matmul.compile(A, B, schedule=schedules.output_stationary(kernels.matmul))
    cycles = [cy.run(plane, backend="sim").cycles]
    for layers in (2, 4):
        schedule = schedules.matmul_25d(kernels.matmul, layers)
        cycles.append(equals_numpy(kernels.matmul, A, B, schedule=schedule)[1].cycles)
    assert cycles == [53, 24 + 5 + 2, 12 + 5 + 6]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("parts", [2, 3, 7])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("schedule", [S, S.space("i"), S.space("i", "l")], ids=str)
def test_all_kinds_of_reductions(schedule, n, parts):
    def run(kernel, *arguments, over="k"):
        equals_numpy(kernel, *arguments, schedule=schedule.reassociate(over, parts=parts, into="l"))

    A, B = integers(2, n), integers(n, n, seed=1)
    run(any_and_all, B > 0)
    run(squared, A)
    if n > 0:  # a maximum over nothing is refused as it is
        run(extremes, B)
        run(nested, A, B)
        run(nested, A, B, over="m")
        run(nested, A, B, over="q")


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("n", SIZES)
def test_two_sums_over_one_index(n, parts):
    A, b = integers(n, n), integers(n, seed=1)
    equals_numpy(two_sums, A, b, schedule=S.reassociate("k", parts=parts, into="l"))


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("n", SIZES)
def test_triangular_bounds(n, parts):
    """Solves and factorisations that read their own results; blocks behind the diagonal are empty."""
    L = triangle(n)
    for kernel, arguments, index in (
        (kernels.solve_scalar, (L, L @ integers(n, 2)), "j"),
        (kernels.solve_vector, (L, L @ integers(n)), "j"),
        (kernels.cholesky_scalar, (L @ L.T,), "k"),
    ):
        equals_numpy(kernel, *arguments, schedule=S.reassociate(index, parts=parts, into="l"))


def test_rows_of_a_solve_in_blocks_in_space():
    """An element goes from its row to the blocks on both sides; of three, PEs take turns."""

    def compiled(parts):
        L = triangle(6)
        schedule = S.reassociate("j", parts=parts, into="l").space("i", "l")
        return kernels.solve_vector.compile(L, L @ integers(6), schedule=schedule)

    for parts, backend in itertools.product((2, 3), ("sim", "local")):
        assert np.array_equal(cy.run(compiled(parts), backend=backend).output, integers(6))


def test_trees_of_sums():
    A, x = integers(3, 16), integers(16, seed=1)
    tree = S.reassociate("k", parts=8, into="l").reassociate("l", parts=2, into="m")
    program, _ = equals_numpy(matvec, A, x, schedule=tree.space("i", "m"))
    assert program.grid == (3, 2)
    assert str(program.recurrences).count("Σ") == 3


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "complex64", "complex128"])
def test_dtypes(dtype):
    A, x = integers(3, 7).astype(dtype), integers(7, seed=1).astype(dtype)
    _, result = equals_numpy(matvec, A, x, schedule=S.reassociate("k", parts=3, into="l").space("l"))
    assert result.output.dtype == dtype


def test_floats_are_near_and_the_same_on_all_backends():
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((5, 40)), rng.standard_normal((40, 6))
    program = kernels.matmul.compile(A, B, schedule=schedules.matmul_25d(kernels.matmul, 4))
    assert cy.check(program, backends=("sim", "local"))
    blocks = (sum(A[:, [k]] * B[[k], :] for k in range(10 * l, 10 * l + 10)) for l in range(4))
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, sum(blocks))


@pytest.mark.parametrize("sizes", [(12, 12, 12), (10, 11, 9), (4, 3, 2)], ids=str)
def test_tiles(sizes):
    rows, inner, columns = sizes
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((rows, inner)), rng.standard_normal((inner, columns))
    tiles = cy.blocked(A, (4, 4)), cy.blocked(B, (4, 4))
    program = kernels.matmul.compile(*tiles, schedule=schedules.matmul_25d(kernels.matmul, 2))
    assert cy.prove(program).ok
    for backend in ("sim", "local"):
        np.testing.assert_allclose(cy.run(program, backend=backend).output, A @ B, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [4, 7, 9])
@pytest.mark.parametrize("parts", [2, 3])
def test_tiles_of_triangles(n, parts):
    rng = np.random.default_rng(4)
    L = np.tril(rng.standard_normal((n, n)), -1) + 3 * np.eye(n)
    B = rng.standard_normal((n, 5))
    for kernel, tiles, index, expected in (
        (kernels.solve, (cy.blocked(L, (2, 2)), cy.blocked(B, (2, 2))), "j", np.linalg.solve(L, B)),
        (kernels.cholesky, (cy.blocked(L @ L.T, (2, 2)),), "k", L),
    ):
        program = kernel.compile(*tiles, schedule=S.reassociate(index, parts=parts, into="l"))
        assert cy.prove(program).ok
        for backend in ("sim", "local"):
            np.testing.assert_allclose(
                cy.run(program, backend=backend).output, expected, rtol=1e-10, atol=1e-12
            )


def test_the_stages_tell_of_the_blocks():
    A = cy.spec((4, 8))
    schedule = schedules.matmul_25d(kernels.matmul, 2)
    program = kernels.matmul.compile(A, cy.spec((8, 3)), schedule=schedule)
    assert program.schedule == schedule
    assert "Σ_{0 <= l <= 1} Σ_{0 <= k <= 7" in str(program.recurrences)
    assert program.recurrences.indices == ("i", "j", "l", "k")
    assert "reassociate k into l, 2 parts" in program.notes["schedule"]
    assert "reductions over k are done in at most 2 blocks, numbered by l" in str(program.explain())
    assert "its order is the re-associated one: k in blocks l" in cy.prove(program)["terms"].text
    assert "reductions over k are re-associated: in blocks, then over these, l" in program.verify()
    plain = kernels.matmul.compile(A, cy.spec((8, 3)))
    assert "re-associated" not in cy.prove(plain)["terms"].text


def test_a_program_in_another_order_is_not_proven():
    """The checker compares with the order that the schedule gives, and tells it from the kernel's."""
    A, B = cy.spec((2, 6)), cy.spec((6, 2))
    blocked = kernels.matmul.compile(A, B, schedule=S.reassociate("k", parts=2, into="l"))
    mixed = cy.Program(blocked.core, recurrences=kernels.matmul.recurrences(A, B))
    with pytest.raises(cy.LegalityError) as caught:
        cy.prove(mixed)
    assert caught.value.code == "CYC665"


def test_a_maximum_whose_blocks_end_with_the_row_is_refused():
    with pytest.raises(cy.ScheduleError) as caught:
        running_maximum.compile(np.ones(6), schedule=S.reassociate("k", parts=3, into="l"))
    assert caught.value.code == "CYC318"
    assert "max(x[k]" in str(caught.value)


@pytest.mark.parametrize(
    ("schedule", "words", "helps"),
    [
        (S.reassociate("q", parts=2, into="l"), "`q`, over which", "it reduces over: k"),
        (S.reassociate("i", parts=2, into="l"), "`i`, over which", "it reduces over: k"),
        (S.reassociate("k", parts=2, into="j"), "`k` into `j`", "it has: A, B, C, i, j, k"),
        (S.reassociate("k", parts=2, into="A"), "`k` into `A`", "it has: A, B, C, i, j, k"),
    ],
    ids=str,
)
def test_names(schedule, words, helps):
    with pytest.raises(cy.ScheduleError, match=words) as caught:
        kernels.matmul.compile(cy.spec((2, 2)), cy.spec((2, 2)), schedule=schedule)
    assert caught.value.code == "CYC318"
    assert helps in caught.value.help


def test_the_new_index_needs_its_reassociation():
    with pytest.raises(cy.ScheduleError) as caught:
        kernels.matmul.compile(cy.spec((2, 2)), cy.spec((2, 2)), schedule=S.space("l"))
    assert caught.value.code == "CYC310"
