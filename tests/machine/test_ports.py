"""`Machine.io`: words come and go at ports only; memories of which nothing is loaded."""

import dataclasses
import warnings

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core

SIZE = 5
RNG = np.random.default_rng(25)


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def drained(A, B):
    """Sums stay in their PEs, then move down the column to the last row."""
    n = A.shape[0]
    C, D, Y = cy.empty((n, n)), cy.empty((n, n, n)), cy.empty((n, n))
    for i in range(n):
        for j in range(n):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(n))
            for r in range(i + 1):
                D[i, j, r] = C[i, j] if r == 0 else D[i - 1, j, r - 1]
                if i == n - 1:
                    Y[i - r, j] = D[i, j, r]
    return Y


@cy.kernel
def fed(A, B):
    """Weights move down from the first row to their PEs and stay there, sums leave at the last row."""
    n = A.shape[0]
    C, W = cy.empty((n, n)), cy.empty((n, n, n))
    for k in range(n):
        for j in range(n):
            for r in range(k, n):
                W[k, j, r] = B[r, j] if k == 0 else W[k - 1, j, r]
    for i in range(n):
        for j in range(n):
            C[i, j] = sum(A[i, k] * W[k, j, k] for k in range(n))
    return C


@cy.kernel
def running(x):
    y = cy.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] if i == 0 else y[i - 1] + x[i]
    return y


OUTPUTS_STAY = cy.Schedule().space("i", "j").stream("A", along="j").stream("B", along="i")
WEIGHTS_STAY = cy.Schedule().space("k", "j").stream("A", along="j")
DESIGNS = {
    "outputs stay": (product, OUTPUTS_STAY),
    "weights stay": (product, WEIGHTS_STAY),
    "hexagonal": (product, cy.Schedule().space("i - k", "j - k")),
    "two rows": (product, OUTPUTS_STAY.fold(i=2)),
    "two by two": (product, OUTPUTS_STAY.fold(i=cy.cyclic(2), j=2)),
    "three rows": (product, WEIGHTS_STAY.fold(k=3)),
    "broadcast": (product, cy.Schedule().space("i", "j").broadcast("A", along="j")),
    "drained": (drained, OUTPUTS_STAY.time("r", "k")),
    "drained in blocks": (drained, OUTPUTS_STAY.fold(i=3, j=3)),
    "fed": (fed, WEIGHTS_STAY),
    "line": (product, cy.Schedule().space("k")),
    "line of sums": (running, cy.Schedule().space("i")),
}


def arguments(kernel):
    generator = np.random.default_rng(25)
    count = 1 if kernel is running else 2
    return [
        generator.integers(-9, 9, (SIZE, SIZE) if count == 2 else SIZE).astype(float) for _ in range(count)
    ]


def expected(kernel, values):
    return np.cumsum(values[0]) if kernel is running else values[0] @ values[1]


def at_edge(grid):
    result = np.ones(grid, bool)
    result[(slice(1, -1),) * len(grid)] = False
    return result


def on_columns(grid):
    result = np.zeros(grid, bool)
    result[..., -1] = True
    result[..., 0] = (np.arange(grid[0]) % 2 == 0) if len(grid) == 2 else True
    return result


def accesses(run):
    counts = run.stats["instructions_by_kind"]
    return counts["load"] + counts["store"]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("io", ["edges", "ports"])
def test_only_ports_load_and_store(design, io):
    """As the simulator counts loads and stores of PEs; of irregular ports not all programs have a side."""
    kernel, schedule = DESIGNS[design]
    values = arguments(kernel)
    target = cy.Machine(topology="hexagonal" if design == "hexagonal" else "mesh")
    free = cy.run(kernel.compile(*values, schedule=schedule, machine=target), backend="sim")
    ports = (at_edge if io == "edges" else on_columns)(free.grid)
    memories = {} if io == "edges" else {"dram": cy.Memory(serves=ports)}
    machine = dataclasses.replace(target, grid=free.grid, io=io, memories=memories)
    try:
        program = kernel.compile(*values, schedule=schedule, machine=machine)
    except cy.CapacityError:
        assert accesses(free)[~ports].any()
        assert io == "ports" or design == "hexagonal"
        return
    for backend in ("sim", "local"):
        run = cy.run(program, backend=backend)
        np.testing.assert_array_equal(next(iter(run.outputs.values())), expected(kernel, values))
        if backend == "sim":
            assert not accesses(run)[~ports].any()
            assert accesses(free)[~ports].any() or run.cycles == free.cycles or io == "ports"


@pytest.mark.parametrize("io", ["edges", "ports"])
@pytest.mark.parametrize("kernel", [product, running])
def test_the_mapper_feeds_and_drains(kernel, io):
    """Its cycles are those of the program, in which only ports load and store; defaults find some, too."""
    values = arguments(kernel)
    ports = at_edge((4, 4)) if io == "edges" else np.arange(4)[:, None] == np.zeros(4)  # or the first row
    memories = {} if io == "edges" else {"dram": cy.Memory(latency=7, depth=4, serves=ports)}
    machine = cy.Machine(grid=(4, 4), io=io, memories=memories)
    found = cy.map(kernel, *values, machine=machine, candidates=6, time_limit=None)
    for program in (found.best, kernel.compile(*values, machine=machine)):
        run = cy.run(program, backend="sim")
        np.testing.assert_array_equal(next(iter(run.outputs.values())), expected(kernel, values))
        assert not accesses(run)[~ports[: run.grid[0], : run.grid[1]]].any()
        assert found.bound <= found[0].cycles <= run.cycles
    assert found[0].cycles == cy.run(found.best, backend="sim").cycles


def test_a_mapper_without_ports_says_so():
    machine = cy.Machine(grid=(4, 4), io="ports", memories={"dram": cy.Memory(serves="3, 3")})
    with pytest.raises(cy.CyclotronError) as refused:
        cy.map(product, *arguments(product), machine=machine, fix=OUTPUTS_STAY, candidates=4, time_limit=None)
    assert "memories" not in str(refused.value.help)


@pytest.mark.parametrize("size", [3, SIZE, 8])
def test_feeding_and_draining_take_what_the_kernel_of_the_paper_takes(size):
    """Operands move in while others compute, results down their column: n - 2 more than without an edge."""
    A, B = (np.random.default_rng(size).random((size, size)) for _ in range(2))
    machine = cy.Machine(grid=(size, size), io="edges")
    by_hand = drained.compile(A, B, schedule=OUTPUTS_STAY.time("r", "k"), machine=machine)
    outputs = cy.run(product.compile(A, B, schedule=OUTPUTS_STAY, machine=machine), backend="sim")
    assert outputs.cycles == cy.run(by_hand, backend="sim").cycles == (3 * size - 2) + (size - 2)
    weights = cy.run(product.compile(A, B, schedule=WEIGHTS_STAY, machine=machine), backend="sim")
    assert (
        weights.cycles
        <= cy.run(fed.compile(A, B, schedule=WEIGHTS_STAY, machine=machine), backend="sim").cycles
    )
    for run in (outputs, weights):
        np.testing.assert_allclose(run.output, A @ B, rtol=1e-13)


@cy.kernel
def laplacian(u):
    v = cy.zeros(u.shape)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
    return v


def test_what_neighbours_read_too_is_fed_to_one_of_them():
    u = RNG.random((8, 8))
    machine = cy.Machine(grid=(4, 4), io="edges")
    run = cy.run(laplacian.compile(u, schedule=cy.Schedule().space("i", "j"), machine=machine), backend="sim")
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    np.testing.assert_allclose(run.output, np.pad(around - 4 * u[1:-1, 1:-1], 1), rtol=1e-12, atol=1e-15)
    assert not accesses(run)[1:, 1:-1].any()


@cy.kernel
def filtered(x, w):
    y = cy.zeros(len(x) - len(w) + 1)
    for i in range(len(y)):
        y[i] = sum(x[i + j] * w[j] for j in range(len(w)))
    return y


@cy.kernel
def relaxed(u):
    for _ in range(6):
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        if cy.max(cy.abs(new - u)) < 0.05:
            break
        u = new
    return u


def relaxed_by_numpy(u):
    for _ in range(6):
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        if np.abs(new - u).max() < 0.05:
            break
        u = new
    return u


def test_defaults_find_ports():
    """A stencil in the plane whose loop ends by data, and a filter, whose windows have no ways, in a row."""
    machine = cy.Machine(grid=(4, 4), io="edges")
    u, x, w = RNG.random((6, 6)), RNG.random(20), RNG.random(4)
    for kernel, values, right in (
        (relaxed, (u,), relaxed_by_numpy(u)),
        (filtered, (x, w), np.correlate(x, w, "valid")),
    ):
        run = cy.run(kernel.compile(*values, machine=machine), backend="sim")
        np.testing.assert_allclose(run.output, right, rtol=1e-13)
        assert not accesses(run)[~at_edge(run.grid)].any()
        assert np.count_nonzero(run.stats["busy"]) > 1


def test_words_travel_from_and_to_the_edges():
    """Each PE hands on what the PEs beyond it need, or have left, besides the operands.

    The product takes 3 n - 2 cycles, and n - 2 more the results that reach the last row after its last sum.
    """
    values, at = arguments(product), np.arange(SIZE)
    machine = cy.Machine(grid=(SIZE, SIZE), io="edges")
    down = cy.run(
        drained.compile(*values, schedule=OUTPUTS_STAY.time("r", "k"), machine=machine), backend="sim"
    )
    assert down.cycles == (3 * SIZE - 2) + (SIZE - 2)
    operands = SIZE * ((at > 0)[:, None].astype(int) + (at > 0))
    received = down.stats["instructions_by_kind"]["receive"]
    np.testing.assert_array_equal(received, operands + at[:, None])
    weights = cy.run(fed.compile(*values, schedule=WEIGHTS_STAY, machine=machine), backend="sim")
    received = weights.stats["instructions_by_kind"]["receive"]
    np.testing.assert_array_equal(received, operands + np.where(at > 0, SIZE - at, 0)[:, None])


@pytest.mark.parametrize("what", ["outputs", "weights"])
def test_a_refusal_says_where_and_for_what(golden_refusal, what):
    machine = cy.Machine(grid=(SIZE, SIZE), io="edges")
    kernel, schedule = DESIGNS[f"{what} stay"]
    golden_refusal(
        f"{what}-without-a-port",
        cy.CapacityError,
        "CYC507",
        lambda: kernel.compile(*arguments(kernel), schedule=schedule).with_machine(machine),
    )


def test_a_program_on_a_part_has_the_edges_of_the_machine():
    larger = cy.Machine(grid=(SIZE + 2, SIZE + 2), io="edges")
    run = cy.run(drained.compile(*arguments(product), schedule=OUTPUTS_STAY, machine=larger), backend="sim")
    np.testing.assert_array_equal(run.output, expected(product, arguments(product)))
    assert run.grid == (SIZE, SIZE)
    assert not accesses(run)[1:, 1:].any()


def test_the_best_mapping_has_ports():
    """Inner PEs store where outputs stay in the plane; of other mappings a line along an edge is best."""
    values = arguments(product)
    counts = {}
    for io in ("everywhere", "edges"):
        found = cy.map(product, *values, machine=cy.Machine(grid=(SIZE, SIZE), io=io))
        run = cy.run(found.best, backend="sim")
        np.testing.assert_array_equal(run.output, expected(product, values))
        access = run.stats["instructions_by_kind"]["load"] + run.stats["instructions_by_kind"]["store"]
        whole = np.zeros((SIZE, SIZE), int)
        whole[tuple(slice(extent) for extent in run.grid)] = access
        counts[io] = whole[1:-1, 1:-1].sum()
    assert counts["everywhere"] > 0 == counts["edges"]


def test_retargeting_asks_for_ports_too():
    program = product.compile(*arguments(product), schedule=OUTPUTS_STAY)
    with pytest.raises(cy.CapacityError, match="CYC507"):
        program.with_machine(cy.Machine(io="edges"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"io": "edge"}, "everywhere, edges, ports"),
        ({"io": np.array(["edges"])}, "everywhere, edges, ports"),
        ({"io": "ports"}, "no memory has any"),
        ({"io": "edges", "memories": {"dram": cy.Memory(serves=":, 0")}}, 'give io="ports"'),
    ],
)
def test_io_that_no_machine_has(fields, message):
    with pytest.raises(cy.ShapeError, match=message):
        cy.Machine(**fields)


def test_files_keep_io(tmp_path):
    machine = cy.Machine(io="edges", memories={"dram": cy.Memory()})
    machine.save(tmp_path / "machine.toml")
    assert cy.Machine.load(tmp_path / "machine.toml") == machine
    assert "at edges" in str(machine)


def compiled(memories, schedule, grid=(8, 8)):
    machine = cy.Machine(grid=grid, memories=memories)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        product.compile(*arguments(product), schedule=schedule, machine=machine)
    return [(one.message.code, one.message.message) for one in caught]


def test_the_warning_of_an_idle_memory(golden_refusal):
    sides = {"left": cy.Memory(serves=":, 0"), "right": cy.Memory(serves=":, -1")}
    machine = cy.Machine(grid=(8, 8), memories=sides)

    def strictly():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            product.compile(*arguments(product), schedule=OUTPUTS_STAY, machine=machine)

    golden_refusal("memory-of-other-pes", cy.PerformanceWarning, "CYC508", strictly)


def test_a_memory_that_serves_none_of_the_programs_pes_warns():
    near, far = cy.Memory(serves=":, 0"), cy.Memory(serves=":, 7")
    idle = [("CYC508", "memory `far` serves none of the program's PEs that load or store")]
    assert compiled({"near": near, "far": far}, OUTPUTS_STAY) == idle
    inner = dataclasses.replace(far, serves="1:-1, 1:-1")
    assert compiled({"near": near, "far": inner}, WEIGHTS_STAY, (SIZE, SIZE)) == []
    assert compiled({"near": near, "far": cy.Memory(serves="-1, 1:")}, WEIGHTS_STAY, (SIZE, SIZE)) == []
    unused = {"near": near, "far": dataclasses.replace(far, serves="1:-1, 1:-1")}
    assert compiled(unused, OUTPUTS_STAY, (SIZE, SIZE)) == []


@pytest.mark.parametrize("seed", range(40))
def test_ports_and_idle_memories_are_those_that_the_simulator_counts(seed):
    """Of two memories of random PEs: of which the warning is, and whether all that is loaded has a port."""
    generator = np.random.default_rng(seed)
    slices = ["0", "-1", "1", "1:-1", ":", "::2", "1::2", ":2", "2:"]
    serves = [", ".join(generator.choice(slices, 2)) for _ in range(2)]
    grid = [(SIZE, SIZE), (SIZE + 2, SIZE + 2)][generator.integers(2)]
    kernel, schedule = DESIGNS[
        str(generator.choice(["outputs stay", "weights stay", "two by two", "drained"]))
    ]
    memories = {name: cy.Memory(serves=text) for name, text in zip("ab", serves, strict=True)}
    values = arguments(kernel)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            machine = cy.Machine(grid=grid, memories=memories)
            program = kernel.compile(*values, schedule=schedule, machine=machine)
        except (cy.ShapeError, cy.CapacityError):  # both serve a PE, or none serves any
            return
    stats = cy.run(program, backend="sim", functional=False).stats
    used = {port["memory"] for port in stats["memory_ports"] if port["loads"] + port["stores"]}
    assert {one.message.message.split("`")[1] for one in caught if one.message.code == "CYC508"} == {
        *"ab"
    } - used
    counts = stats["instructions_by_kind"]
    free = (counts["load"] + counts["store"])[stats["memory_port"] < 0].any()
    at_ports = dataclasses.replace(machine, io="ports")
    try:
        run = cy.run(
            kernel.compile(*values, schedule=schedule, machine=at_ports), backend="sim", functional=False
        )
    except cy.CapacityError:
        assert free
    else:
        assert not accesses(run)[run.stats["memory_port"] < 0].any()


def random_boxes(generator, grid):
    """As cy.Memory's `serves`: perhaps none, and slices that are empty or count from the far edge."""
    bounds = [None, 0, 1, 2, 3, -1, -2, 9]
    return [
        [
            _core.Slice(
                first=int(generator.choice([0, 0, 0, 1, 2, -1, -3])),
                last=bounds[generator.integers(len(bounds))],
                step=int(generator.integers(1, 4)),
            )
            for _ in grid[: generator.integers(len(grid) + 1)]
        ]
        for _ in range(generator.integers(4))
    ]


def marked(grid, boxes):
    result = np.zeros(grid, bool)
    for box in boxes:
        result[tuple(slice(one.first, one.last, one.step) for one in box)] = True
    return result


@pytest.mark.parametrize("design", DESIGNS)
def test_the_first_pe_of_boxes_and_classes_is_the_one_that_counting_finds(design):
    kernel, schedule = DESIGNS[design]
    target = cy.Machine(topology="hexagonal" if design == "hexagonal" else "mesh")
    program = kernel.compile(*arguments(kernel), schedule=schedule, machine=target).core
    generator = np.random.default_rng(list(design.encode()))
    found = 0
    for _ in range(60):
        inside, outside = (random_boxes(generator, program.grid) for _ in range(2))
        for number in (None, *range(len(program.classes))):
            pes = marked(program.grid, inside) & ~marked(program.grid, outside)
            if number is not None:
                pes &= program.class_map == number
            right = np.argwhere(pes)[0].tolist() if pes.any() else None
            assert _core.first_pe(program, pe_class=number, inside=inside, outside=outside) == right
            found += right is not None
    assert found > 20


def test_ports_are_found_without_a_look_at_each_pe():
    """Of four billion PEs, those of odd rows have no port."""
    n = 1 << 16
    machine = cy.Machine(grid=(n, n), memories={"dram": cy.Memory(serves="::2, :")})
    program = product.compile(
        cy.spec((n, 4)), cy.spec((4, n)), schedule=cy.Schedule().space("i", "j"), machine=machine
    )
    with pytest.raises(cy.CapacityError, match=r"PE \(1, 0\) loads `A`"):
        program.with_machine(dataclasses.replace(machine, io="ports"))
    with pytest.raises(cy.CapacityError, match=r"PE \(1, 1\) stores `C`"):
        program.with_machine(cy.Machine(grid=(n, n), io="edges"))
