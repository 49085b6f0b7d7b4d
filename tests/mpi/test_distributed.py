"""Runs on tiles that the ranks hold: same bits as on threads, wherever tiles lie and however they travel."""

from __future__ import annotations

import pytest
from test_collective import launch

PRELUDE = """
    import resource
    import cyclotron as cy
    from cyclotron import _mpi
    from cyclotron.mpi.collective import world
    from cyclotron.mpi.distributed import distribute, run_distributed

    from tile_kernels import cholesky, matmul, same
    rng = np.random.default_rng(5)
"""


def run(ranks: int, script: str) -> None:
    """Every rank gets to the end."""
    assert launch(ranks, PRELUDE + script + '\n    report("done")\n') == ["done"] * ranks


RING = """
    ranks = int(os.environ["OMPI_COMM_WORLD_SIZE"])
    n, rows = 47 * ranks - 5, 47  # the last tiles are smaller
    A, B = rng.standard_normal((2, n, n))
    schedule = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by=("i",))
    machine = cy.Machine(grid=(ranks,), topology="ring", pe=cy.PE(memory=1 << 30)) if ranks > 1 else None
    blocked = cy.blocked(A, (rows, rows)), cy.blocked(B, (rows, n))
    schedule = schedule if ranks > 1 else None
    program = matmul.compile(*blocked, schedule=schedule, machine=machine)
    expected = cy.run(program).output
    core = program.core.to_bytes()
    for owners in [(lambda i, k: i, lambda k, j: k), (lambda *at: ranks - 1, lambda *at: 0)]:
        tiles = [distribute(b.array, b.tile_shape, o) for b, o in zip(blocked, owners)]
        made = run_distributed(core, program.tensors, tiles)
        same(made.outputs["C"].gather(), expected)
        assert len(made.profile) == ranks and all(rank["seconds"] > 0 for rank in made.profile)
        again = run_distributed(core, program.tensors, tiles)  # inputs are as they were
        same(again.outputs["C"].gather(), expected)
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_ring_that_starts_with_its_own_tiles_or_fetches_them(ranks):
    run(ranks, RING)


DEALT = """
    ranks = int(os.environ["OMPI_COMM_WORLD_SIZE"])
    matrix = rng.standard_normal((150, 150))
    matrix = matrix @ matrix.T + 150 * np.eye(150)
    blocked = cy.blocked(matrix, (32, 32))
    machine = cy.Machine(grid=(5, 5), pe=cy.PE(memory=1 << 30))
    program = cholesky.compile(blocked, schedule=cy.Schedule().space("i", "j"), machine=machine)
    expected = cy.run(program).output
    core = program.core.to_bytes()
    tiles = distribute(matrix, (32, 32), lambda i, j: (i + 2 * j) % ranks)
    for deal in [None, [(ranks, 1), (1, 1)], [(1, 1), (ranks, 2)], [(1, 5), (1, 5)]]:
        made = run_distributed(core, program.tensors, [tiles], deal)
        same(made.outputs["L"].gather(), expected)
    # What one run made another takes, from where it is.
    product = matmul.compile(blocked, blocked, machine=cy.Machine(grid=(5, 5), pe=cy.PE(memory=1 << 30)))
    chained = run_distributed(product.core.to_bytes(), product.tensors, [made.outputs["L"], tiles])
    same(chained.outputs["C"].gather(), cy.run(product, expected, matrix).output)
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_pes_dealt_out_to_ranks(ranks):
    run(ranks, DEALT)


SENT = """
    for n, tile in [(66, 22), (69, 23), (400, 100), (540, 270)]:  # below and above what MPI sends eagerly
        A, B = rng.standard_normal((2, n, n))
        blocked = cy.blocked(A, (tile, tile)), cy.blocked(B, (tile, tile))
        program = matmul.compile(*blocked, schedule=cy.schedules.summa(matmul))
        expected = cy.run(program).output
        for share_memory in (True, False):
            C = np.zeros((n, n))
            profile = _mpi.run(program.core.to_bytes(), world(_mpi), [A, B, C], share_memory=share_memory)
            same(C, expected)
            lent = sum(rank["lent_bytes"] for rank in profile)
            assert (lent > 0) == (share_memory and 8 * tile * tile >= 4096)
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_tiles_that_are_lent_and_tiles_that_are_sent(ranks):
    run(ranks, SENT)


def test_memory_is_used_again():
    run(
        2,
        """
    n = 512
    A, B = rng.standard_normal((2, n, n))
    program = matmul.compile(cy.blocked(A, (256, 256)), cy.blocked(B, (256, 256)))
    tiles = [distribute(X, (256, 256), lambda i, j: (i + j) % 2) for X in (A, B)]
    def most():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(5):
        run_distributed(program.core.to_bytes(), program.tensors, tiles)
    before = most()
    for _ in range(40):
        run_distributed(program.core.to_bytes(), program.tensors, tiles)
    assert most() - before < 4096, (before, most())  # KiB; a lost tile a run would be 20 MiB
    """,
    )


def test_tensors_and_deals_that_do_not_fit_are_refused_on_all_ranks():
    lines = launch(
        2,
        PRELUDE
        + """
    A, B = rng.standard_normal((2, 64, 64))
    program = matmul.compile(cy.blocked(A, (32, 32)), cy.blocked(B, (32, 32)))
    right = distribute(A, (32, 32), lambda i, j: 0)
    for second, deal in [
        (distribute(B, (16, 32), lambda i, j: 0), None),
        (right, [(2, 1)]),
        (right, [(2, 1), (2, 1)]),
        (right, [(2, 0), (1, 1)]),
    ]:
        try:
            run_distributed(program.core.to_bytes(), program.tensors, [right, second], deal)
        except CyclotronError as error:
            report(f"{error.code} {error.message}"[:60])
    for tile, owner in [((32,), 0), ((0, 32), 0), ((32, 32), 2)]:
        try:
            distribute(A, tile, lambda *at: owner)
        except CyclotronError as error:
            report(f"{error.code} {error.message}")
    same(run_distributed(program.core.to_bytes(), program.tensors, [right, right]).outputs["C"].gather(),
         cy.run(program, A, A).output)
    """,
    )
    assert lines == sorted(
        2
        * [
            "CYC208 `B` is of 64x64 float64 in tiles of 32x32, its distri",
            "CYC733 PEs of a grid with 2 dimensions are dealt out to 2 ra",
            "CYC733 PEs of a grid with 2 dimensions are dealt out to 2 x ",
            "CYC733 PEs of a grid with 2 dimensions are dealt out to 2 x ",
            "CYC710 tiles of (32,) in an array of shape (64, 64)",
            "CYC710 tiles of (0, 32) in an array of shape (64, 64)",
            "CYC733 tile (0, 0) is given to rank 2 of 2",
        ]
    )
