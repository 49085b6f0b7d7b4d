"""Runs under mpirun on tiles that the ranks hold: same bits as on threads, wherever tiles lie and travel."""

from __future__ import annotations

import pytest
from test_collective import launch

PRELUDE = """
    import resource
    import cyclotron as cy
    from cyclotron import _mpi
    from cyclotron.mpi.collective import world
    from kernels import cholesky, matmul

    ranks = int(os.environ["OMPI_COMM_WORLD_SIZE"])
    rng = np.random.default_rng(5)

    def same(found, expected):
        assert found.tobytes() == expected.tobytes(), abs(found - expected).max()
"""


def run(ranks: int, script: str) -> None:
    """Every rank gets to the end."""
    assert launch(ranks, PRELUDE + script + '\n    report("done")\n') == ["done"] * ranks


RING = """
    n, rows = 47 * ranks - 5, 47  # the last tiles are smaller
    A, B = rng.standard_normal((2, n, n))
    schedule = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by=("i",))
    machine = cy.Machine(grid=(ranks,), topology="ring", pe=cy.PE(memory=1 << 30)) if ranks > 1 else None
    blocked = cy.blocked(A, (rows, rows)), cy.blocked(B, (rows, n))
    schedule = schedule if ranks > 1 else None
    program = matmul.compile(*blocked, schedule=schedule, machine=machine)
    expected = cy.run(program).output
    for owners in [(lambda i, k: i, lambda k, j: k), (lambda *at: ranks - 1, lambda *at: 0)]:
        tiles = [
            cy.distribute(b, cy.Layout(block=b.tile_shape, owner=owner)) for b, owner in zip(blocked, owners)
        ]
        made = cy.run(program, *tiles, backend="mpi")
        assert made.output.owners.tolist() == [[rank] for rank in range(ranks)]
        same(made.output.gather(), expected)
        same(made.output.local, expected[rank() * rows : (rank() + 1) * rows])
        assert len(made.profile) == ranks and all(each["seconds"] > 0 for each in made.profile)
        again = cy.run(program, *tiles, backend="mpi")  # inputs are as they were
        same(np.asarray(again.output), expected)
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_ring_that_starts_with_its_own_tiles_or_fetches_them(ranks):
    run(ranks, RING)


DEALT = """
    matrix = rng.standard_normal((150, 150))
    matrix = matrix @ matrix.T + 150 * np.eye(150)
    tiles = cy.distribute(matrix, cy.Layout(block=32, owner=lambda i, j: (i + 2 * j) % ranks))
    machine = cy.Machine(grid=(5, 5), pe=cy.PE(memory=1 << 30))
    program = cholesky.compile(tiles, schedule=cy.Schedule().space("i", "j"), machine=machine)
    expected = cy.run(program, matrix).output
    for grid, block in [(None, None), ((ranks, 1), 1), ((1, ranks), (1, 2)), ((1, 1), 5)]:
        deal = None if grid is None else cy.Layout(grid, block)
        made = cy.run(program, tiles, backend="mpi", deal=deal).output
        same(made.gather(), expected)
    # What one run made another takes, from where it is.
    product = matmul.compile(made, tiles, machine=cy.Machine(grid=(5, 5), pe=cy.PE(memory=1 << 30)))
    chained = cy.run(product, made, matrix, backend="mpi")  # an array that all ranks have will do, too
    same(chained.output.gather(), cy.run(product, expected, matrix).output)
    # Another backend takes all of it.
    same(cy.run(product, made, tiles, backend="local").output, cy.run(product, expected, matrix).output)
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_pes_dealt_out_to_ranks(ranks):
    run(ranks, DEALT)


LAYOUTS = """
    for shape in [(23, 17), (1, 1), (0, 5), (64,), (5, 6, 7)]:
        for dtype in ["float64", "float32", "complex128", "int32", "bool"]:
            array = (rng.standard_normal(shape) * 9).astype(dtype)
            array = array[..., ::-1] if shape[-1] > 5 else array
            kept = cy.distribute(array)
            for block in [None, 1, 4, 7]:
                for grid in {(ranks, *(1,) * (array.ndim - 1)), (*(1,) * (array.ndim - 1), ranks)}:
                    source = tuple(size - 1 for size in grid)
                    layout = cy.Layout(grid, block, source)
                    kept = kept.relayout(layout)  # of what the layout before left
                    assert kept.tile == layout.tile(shape)
                    same(kept.local, array[np.ix_(*layout.local_indices(shape, rank()))])
            same(kept.gather(), array)
            from_root = cy.distribute(array if rank() == ranks - 1 else None, layout, root=ranks - 1)
            same(from_root.local, kept.local)
    # A triangle of tiles, of which nobody has the rest.
    lower = cy.Layout(block=3, owner=lambda i, j: (i + j) % ranks if i >= j else -1)
    array = rng.standard_normal((11, 11))
    expected = np.array([[array[i, j] if i // 3 >= j // 3 else 0 for j in range(11)] for i in range(11)])
    kept = cy.distribute(array, lower)
    same(kept.gather(), expected)
    same(kept.relayout(cy.Layout((1, ranks), 2)).gather(), expected)
    assert sum(tile.nbytes for tile in kept.tiles.values()) < array.nbytes
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_layouts_and_relayouts(ranks):
    run(ranks, LAYOUTS)


def test_a_file_of_which_each_rank_reads_its_part(tmp_path):
    run(
        2,
        f"""
    path = {str(tmp_path)!r} + "/A.npy"
    n = 3000
    if rank() == 0:
        np.save(path, np.arange(n * n, dtype="float64").reshape(n, n))
    _mpi.init()
    _mpi.agree(b"", world(_mpi))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    A = cy.distribute(path, cy.Layout((2, 1), (n // 6, n)))
    # 36 MB are its own, and as many of the file are mapped; not all of the 72 MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000
    own = np.arange(n * n, dtype="float64").reshape(6, n // 6, n)[rank() :: 2].reshape(-1, n)
    same(A.local, own)
    B = rng.standard_normal((n, 8))
    program = matmul.compile(cy.spec((n, n), tile=(n // 2, n)), cy.blocked(B, (n, 8)))
    made = cy.run(program, A, B, backend="mpi").output  # in other tiles than the file's
    np.testing.assert_allclose(made.gather(), np.load(path) @ B, rtol=1e-9)
    """,
    )


SENT = """
    for n, tile in [(66, 22), (69, 23), (400, 100), (540, 270)]:  # below and above what MPI sends eagerly
        A, B = rng.standard_normal((2, n, n))
        blocked = cy.blocked(A, (tile, tile)), cy.blocked(B, (tile, tile))
        program = matmul.compile(*blocked, schedule=cy.schedules.summa(matmul))
        expected = cy.run(program).output
        for share_memory in (True, False):
            C = np.zeros((n, n))
            _mpi.init()
            profile = _mpi.run(program.core.to_bytes(), world(_mpi), [A, B, C], share_memory=share_memory)
            same(C, expected)
            lent = sum(rank["lent_bytes"] for rank in profile)
            assert (lent > 0) == (share_memory and 8 * tile * tile >= 4096)
"""


@pytest.mark.parametrize("ranks", [2, 4])
def test_tiles_that_are_lent_and_tiles_that_are_sent(ranks):
    run(ranks, SENT)


CHAINED = """
    rows = 48
    n = rows * ranks
    A, B = rng.standard_normal((2, n, n))
    machine = cy.Machine(grid=(ranks,), topology="ring", pe=cy.PE(memory=1 << 30))
    ring = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by=("i",))
    blocked = cy.blocked(A, (rows, rows)), cy.blocked(B, (rows, n))
    tiles = [cy.distribute(b, cy.Layout(block=b.tile_shape, owner=lambda i, j: i)) for b in blocked]
    made = cy.run(matmul.compile(*blocked, schedule=ring, machine=machine), *tiles, backend="mpi").output
    for schedule in (  # the product goes round, is broadcast, and is fetched by all
        ring,
        cy.Schedule().space("i").time("k", "j").broadcast("B", along="i"),
        cy.Schedule().space("i").time("k", "j").prefetch("B"),
    ):
        program = matmul.compile(*blocked, schedule=schedule, machine=machine)
        expected = cy.run(program, A, made.gather(), backend="local").output
        for _ in range(2):
            again = cy.run(program, tiles[0], made, backend="mpi")
            same(again.output.gather(), expected)
            tile = 8 * rows * n
            assert sum(rank["lent_bytes"] for rank in again.profile) >= (ranks - 1) * tile
            assert sum(rank["sent_bytes"] for rank in again.profile) < tile / 4
"""


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_one_run_keeps_to_its_rank_another_lends(ranks):
    run(ranks, CHAINED)


def test_memory_is_used_again():
    run(
        2,
        """
    n = 512
    A, B = rng.standard_normal((2, n, n))
    program = matmul.compile(cy.blocked(A, (256, 256)), cy.blocked(B, (256, 256)))
    tiles = [cy.distribute(X, cy.Layout(block=256, owner=lambda i, j: (i + j) % 2)) for X in (A, B)]
    def most():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(5):
        cy.run(program, *tiles, backend="mpi")
    before = most()
    for _ in range(40):
        cy.run(program, *tiles, backend="mpi")
        tiles[0].relayout(cy.Layout((2, 1), 100))
    assert most() - before < 8192, (before, most())  # KiB; a lost tile a run would be 20 MiB
    """,
    )


def test_arrays_layouts_and_deals_that_do_not_fit_are_refused_on_all_ranks():
    lines = launch(
        2,
        PRELUDE
        + """
    A, B = rng.standard_normal((2, 64, 64))
    tiles = cy.distribute(A, cy.Layout(block=32, owner=lambda i, j: 0))
    program = matmul.compile(tiles, tiles)
    scalars = matmul.compile(A, B)
    def refused(call):
        try:
            call()
        except CyclotronError as error:
            report(f"{error.code} {error.message}"[:90])
    refused(lambda: cy.run(program, tiles, B[:32], backend="mpi"))
    refused(lambda: cy.run(scalars, tiles, B, backend="mpi"))
    refused(lambda: cy.run(program, tiles, tiles, backend="mpi", deal=cy.Layout((2, 2), 1)))
    refused(lambda: cy.run(program, tiles, tiles, backend="mpi", deal=cy.Layout((2, 1), 1, (1, 0))))
    refused(lambda: cy.run(program, tiles, tiles, backend="mpi", ranks=3))
    refused(lambda: cy.distribute(A, cy.Layout((2,), 32)))
    refused(lambda: cy.distribute(A, cy.Layout((2, 2), 32)))
    refused(lambda: cy.distribute(A.astype("S3")))
    refused(lambda: cy.distribute("/nonexistent.npy"))
    refused(lambda: cy.distribute(A, root=2))
    if rank() == 1:
        B = B[:, :63]
    refused(lambda: cy.distribute(B))  # each rank another shape
    refused(lambda: cy.distribute(A if rank() == 1 else None))
    refused(lambda: tiles.relayout(cy.Layout((2, 1), 16 + rank())))
    refused(lambda: cy.distribute(None, root=0))
    same(cy.run(program, tiles, tiles, backend="mpi").output.gather(), cy.run(program, A, A).output)
    """,
    )
    both = [
        "CYC710 input `B` has shape (32, 64), and the program was compiled for (64, 64)",
        "CYC734 `A` is distributed, and the program takes single elements of it",
        "CYC733 PEs of a grid with 2 dimensions are dealt out to 2 x 2 ranks in blocks of 1 x 1, of",
        "CYC733 PEs are dealt out by cy.Layout(grid=(2, 1), block=1, source=(1, 0))",
        "CYC736 ranks=3 for an array that is on 2",
        "CYC734 a layout with 1 dimensions for an array of shape (64, 64)",
        "CYC734 block (1, 0) is given to rank 2 of 2",
        "CYC734 an array of shape (64, 64) and dtype |S3 is not distributed",
        "CYC734 `/nonexistent.npy` is no array that can be mapped: No such file or directory",
        "CYC733 root=2 is more than 1",
        "CYC731 the 2 ranks were given different arrays or layouts",
        "CYC731 the 2 ranks were given different arrays or layouts",
    ]
    single = [
        "CYC734 this rank has no array",
        "CYC731 the 2 ranks were given different arrays or layouts",
        "CYC734 this rank has no array",
        "CYC731 rank 0, which was to give the array, failed",
    ]
    assert lines == sorted(2 * both + single)
