"""Programs of scalars without a schedule and a machine: on threads and ranks few PEs, the array's bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_corpus import ENTRIES, arguments

import cyclotron as cy
from cyclotron.compiler import defaults
from cyclotron.language import Blocked
from cyclotron.support.environment import threads

RNG = np.random.default_rng(3)


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def shortest_paths(D):
    n = D.shape[0]
    R = cy.empty((n + 1, n, n))
    for i in range(n):
        for j in range(n):
            R[0, i, j] = D[i, j]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                R[k + 1, i, j] = cy.minimum(R[k, i, j], R[k, i, k] + R[k, k, j])
    F = cy.empty((n, n))
    for i in range(n):
        for j in range(n):
            F[i, j] = R[n, i, j]
    return F


def random(*shape):
    return RNG.standard_normal(shape)


def pes(program):
    return int(np.prod(program.grid))


@pytest.fixture
def always_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the kernel is, an array of workers is taken where there is one."""
    for name in ("_LONG", "_VERY_LONG", "_FEW_PES", "_SECONDS_AN_INSTRUCTION"):
        monkeypatch.setattr(defaults, name, 0)
    monkeypatch.setattr(defaults, "_GAIN", 1e9)


def same_bits(result, expected):
    for array, wanted in zip(result.outputs.values(), expected.outputs.values(), strict=True):
        assert array.dtype == wanted.dtype
        assert array.tobytes() == wanted.tobytes()


@pytest.fixture
def never_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays are placed too."""
    monkeypatch.setattr(defaults, "_FEW_PES", 0)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.usefixtures("never_as_it_is")
def test_the_corpus_has_the_bits_of_the_array(name):
    entry = ENTRIES[name]
    for size in entry.sizes:
        program = entry.kernel.compile(*arguments(entry, size))
        expected = cy.run(program, backend="sim")
        assert expected.program.grid == program.grid
        same_bits(cy.run(program), expected)


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.usefixtures("always_an_array")
def test_arrays_of_workers_have_the_bits_of_the_array(name):
    entry = ENTRIES[name]
    program = entry.kernel.compile(*arguments(entry, entry.sizes[-1]))
    expected = cy.run(program, backend="sim")
    # Not those that other tests chose, with the thresholds as they are.
    placements = defaults.Placements(program.placements.recurrences, program.placements._compile)
    for workers in (1, 2, 3):
        placed = placements.on(defaults.Workers(workers, 0.0))
        if placed is None:
            assert any(isinstance(argument, Blocked) for argument in program.arguments)
            continue
        assert pes(placed) <= workers
        same_bits(cy.run(placed.with_arguments(program.arguments)), expected)


def test_rounding_is_that_of_the_array():
    """Sums keep their order, whatever the order of the loops around them."""
    A, B = random(40, 70), random(70, 60)
    program = matmul.compile(A, B)
    assert program.grid == (40, 60)
    expected = cy.run(program, backend="sim").output
    result = cy.run(program)
    assert result.program.grid == (1,)
    assert result.output.tobytes() == expected.tobytes()
    assert matmul(A, B).tobytes() == expected.tobytes()
    terms = A[:, :1] * B[:1]  # by NumPy, term after term
    for k in range(1, 70):
        terms = terms + A[:, k : k + 1] * B[k : k + 1]
    assert expected.tobytes() == terms.tobytes()


@cy.kernel
def normalised(A, x):
    y = A @ x
    return y / cy.sum(y * y)


def test_sums_from_both_ends_have_the_bits_of_the_array():
    """Reductions of whole arrays promise no order; the array's is that of all backends."""
    program = normalised.compile(random(9, 9), random(9))
    assert program.schedule.to_dict()["inwards"]
    for _ in range(5):
        inputs = random(9, 9), random(9)
        array = cy.run(program, *inputs, backend="sim").output
        for backend in ("local", "mpi"):
            result = cy.run(program, *inputs, backend=backend, **({"ranks": 2} if backend == "mpi" else {}))
            np.testing.assert_array_equal(result.output, array)


def test_the_innermost_loop_of_long_products_has_no_sum():
    A, B = random(80, 50), random(50, 90)
    assert cy.run(matmul, A, B).program.schedule.time_indices == ("i", "k", "j")


@pytest.mark.usefixtures("always_an_array")
def test_workers_are_as_many_as_asked_for():
    A, B = random(12, 13), random(13, 14)
    expected = cy.run(matmul.compile(A, B), backend="sim").output
    for count in (2, 3):
        result = cy.run(matmul, A, B, threads=count)
        assert pes(result.program) == count
        assert result.output.tobytes() == expected.tobytes()
    assert pes(cy.run(matmul, A, B, threads=1).program) == 1


def test_paths_run_on_few_pes():
    D = np.abs(random(64, 64))
    result = cy.run(shortest_paths, D)
    assert pes(result.program) <= threads()
    wanted = D.copy()
    for k in range(64):
        wanted = np.minimum(wanted, wanted[:, k : k + 1] + wanted[k : k + 1])
    np.testing.assert_array_equal(result.output, wanted)


def test_kernels_run_on_every_backend():
    A, B = random(5, 4), random(4, 3)
    array = cy.run(matmul, A, B, backend="sim")
    assert array.program.grid == (5, 3)
    assert array.cycles == cy.run(matmul.compile(A, B), backend="sim").cycles
    same_bits(cy.run(matmul, A, B, backend="local"), array)
    np.testing.assert_allclose(cy.run(matmul, A, B, backend="numpy").output, array.output)
    with pytest.raises(cy.ExecutionError) as caught:
        cy.run(matmul, A, B, ranks=2)
    assert caught.value.code == "CYC733"
    with pytest.raises(cy.TraceError) as caught:
        cy.run(matmul, A)
    assert caught.value.code == "CYC116"


def test_arguments_may_change_between_runs():
    A, B = random(6, 6), random(6, 6)
    program = matmul.compile(A, B)
    first, second = cy.run(program).output, cy.run(program, B, A).output
    np.testing.assert_allclose(first, A @ B)
    np.testing.assert_allclose(second, B @ A)
    np.testing.assert_allclose(cy.run(matmul, B, A).output, B @ A)


@pytest.mark.parametrize(
    "change",
    [
        lambda program: program.with_machine(cy.Machine(link=cy.Link(depth=8))),
        lambda program: program.with_depths({}),
    ],
)
def test_what_is_changed_by_hand_runs_as_it_is(change):
    program = matmul.compile(random(4, 4), random(4, 4))
    changed = change(program)
    assert changed.placements is None
    assert cy.run(changed).program.grid == (4, 4)


def test_what_is_given_runs_as_it_is(tmp_path: Path):
    A, B = random(4, 4), random(4, 4)
    assert cy.run(matmul.compile(A, B, machine=cy.Machine(grid=(4, 4)))).program.grid == (4, 4)
    assert cy.run(matmul.compile(A, B, schedule=cy.Schedule().space("i"))).program.grid == (4,)
    matmul.compile(A, B).save(tmp_path / "matmul.cyc")
    assert cy.run(cy.load(tmp_path / "matmul.cyc"), A, B).program.grid == (4, 4)


def test_tiles_keep_their_array():
    A, B = (cy.blocked(random(8, 8), (2, 2)) for _ in range(2))
    assert cy.run(matmul_of_tiles, A, B).program.grid == (4, 4)


@cy.kernel
def matmul_of_tiles(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


def test_variables_of_a_function_are_those_of_the_compilation():
    factor = 2.0

    @cy.kernel
    def scaled(x):
        y = cy.empty(x.shape[0])
        for i in range(x.shape[0]):
            y[i] = factor * x[i]
        return y

    x = random(9)
    program = scaled.compile(x)
    factor = 3.0
    np.testing.assert_array_equal(cy.run(program).output, 2.0 * x)
    np.testing.assert_array_equal(cy.run(scaled, x).output, 3.0 * x)


def test_loops_end_early_on_one_pe_too():
    @cy.kernel
    def halved(x, least):
        while abs(x[0]) > least:
            x = x / 2
        return x

    x = np.array([1000.0, 3.0])
    program = halved.compile(x, 1.0)
    result = cy.run(program)
    same_bits(result, cy.run(program, backend="sim"))
    assert 10 <= next(iter(result.steps.values())) <= 13  # 1000 is below 1 after 10; they run a few more


def test_ranks_have_the_bits_of_the_array():
    A, B = random(11, 12), random(12, 13)
    program = matmul.compile(A, B)
    try:
        result = cy.run(program, backend="mpi", ranks=2)
    except cy.BackendUnavailable:
        pytest.skip("no MPI here")
    assert pes(result.program) <= 2
    expected = cy.run(program, backend="sim")
    same_bits(result, expected)
    same_bits(cy.run(matmul, A, B, backend="mpi", ranks=2), expected)
    dealt = cy.run(program, backend="mpi", ranks=2, deal=cy.Layout((2, 1), 1))
    assert dealt.program.grid == (11, 13)
    same_bits(dealt, expected)


def test_resident_programs_are_placed_too():
    A, B = random(9, 9), random(9, 9)
    program = matmul.compile(A, B)
    with cy.resident(program, bind={"C": "A"}) as handle:
        handle.run()
        second = handle.run()
        assert pes(second.program) == 1
        np.testing.assert_allclose(second.output, A @ B @ B)


def test_a_small_array_runs_as_it_is():
    A, B = random(8, 3), random(3, 8)
    program = matmul.compile(A, B)
    assert cy.run(program).program.grid == program.grid == (8, 8)
    assert cy.run(matmul, A, B).program.grid == (1,)  # nothing was compiled yet
    assert cy.run(matmul.compile(random(9, 3), B)).program.grid == (1,)


@pytest.mark.parametrize("fold", [cy.block(2), cy.cyclic(2)])
def test_a_folded_pe_loads_a_prefetched_element_once(fold):
    A, B = random(6, 5), random(5, 4)
    schedule = cy.Schedule().space("i").time("k", "j").fold(i=fold).prefetch("B")
    result = cy.run(matmul.compile(A, B, schedule=schedule), backend="sim")
    np.testing.assert_allclose(result.output, A @ B)
    assert result.stats["words_loaded"].tolist() == [3 * 5 + 5 * 4] * 2


@pytest.mark.usefixtures("always_an_array")
def test_workers_that_share_inputs_send_no_messages():
    """Each loads what it needs, once; sums are outside of the loop over its elements."""
    A, B = random(20, 7), random(7, 5)
    program = cy.run(matmul, A, B, threads=2).program
    assert program.grid == (2,)
    assert program.channel_flows == []
    assert program.schedule.time_indices[0] == "k"


@cy.kernel
def least_sums(A, B):
    C = cy.full((A.shape[0], B.shape[1]), cy.inf)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = min(C[i, j], A[i, k] + B[k, j])
    return C


def test_values_that_go_on_take_turns():
    """The innermost loop is one of elements, whatever their values are computed from in turn."""
    A, B = random(50, 60), random(60, 70)
    result = cy.run(least_sums, A, B)
    assert result.program.grid == (1,)
    assert result.program.schedule.time_indices == ("i", "k", "j")
    np.testing.assert_array_equal(result.output, (A[:, :, None] + B[None]).min(axis=1))
    same_bits(result, cy.run(least_sums, A, B, backend="sim"))
    D = random(64, 64)  # each step reads all of the one before it: the text's order is as good
    assert cy.run(shortest_paths, D).program.schedule.time_indices[-1] == "j"
