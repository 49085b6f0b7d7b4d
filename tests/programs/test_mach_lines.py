"""Capabilities of MACH's paper, each as a small program; the control system's have files of their own."""

import ast
import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import mutants
import numpy as np
import pytest
from control_kernels import halved

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import mach_listing

GRID = cy.Schedule().space("i", "j")
WITH_CONTROL = cy.Machine(control=cy.Control())


@cy.kernel
def axpy(x, y):
    return x * 2 + y


def numbers(*shape):
    return np.random.default_rng(len(shape)).random(shape)


def simulated(kernel, *arguments, schedule=GRID, machine=None, **options):
    """The result on the simulator, of which the outputs are the reference's."""
    program = kernel.compile(*arguments, schedule=schedule, machine=machine)
    result = cy.run(program, backend="sim", **options)
    expected = kernel.reference(*(np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments))
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, right in zip(result.outputs.values(), expected, strict=True):
        np.testing.assert_array_equal(found, right)
    return result


def test_one_text_runs_on_a_spatial_machine_and_on_the_cpu():
    """MA-002, MA-005, MA-014, MA-061: the same dense program by Python, a PE array, threads and ranks."""
    x, least, steps = numbers(4, 4), 0.3, 20
    expected = halved.__wrapped__(x.copy(), least, steps)
    program = halved.compile(x, least, steps, schedule=GRID, machine=WITH_CONTROL)
    for backend in ("sim", "local", "mpi", "numpy"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


def test_stages_lead_from_text_to_programs_of_pes():
    """MA-001, MA-003: text, intermediate language, graph, recurrences, and each class's program, apart."""
    x, y = numbers(3, 4), numbers(3, 4)
    program = axpy.compile(x, y, schedule=GRID, machine=cy.machines.wse2(3, 4))
    assert "il.program" in axpy.il(x, y)
    assert [node.op for node in axpy.graph(x, y)][2:] == ["multiply", "add"]
    assert "x" in str(program.recurrences)
    assert "load" in str(program.classes[0])
    # One program by another mapping, and on another machine: the language knows of neither.
    other = axpy.compile(x, y, schedule=cy.Schedule().space("i"))
    np.testing.assert_array_equal(cy.run(other).output, cy.run(program, backend="sim").output)


def test_mappings_are_the_users_too():
    """MA-004, MA-060: dense by default, else any affine place; a dense dimension over a group of PEs."""
    x = numbers(2, 3, 8)

    @cy.kernel
    def doubled(x):
        return x + x

    dense = doubled.compile(x, schedule=cy.Schedule().space("i", "j"))
    own = doubled.compile(x, schedule=cy.Schedule().space("i + j"))
    group = doubled.compile(x, schedule=cy.Schedule().space("i", "k").fold(k=cy.block(4)))
    assert [program.grid for program in (dense, own, group)] == [(2, 3), (4,), (2, 4)]
    for program in (dense, own, group):
        np.testing.assert_array_equal(cy.run(program, backend="sim").output, x + x)


def test_a_call_has_messages_between_workers_and_to_the_controller():
    """MA-009, MA-011 to MA-013: numbers and arguments in the order of the sections, a flag each time."""
    program = halved.compile(np.ones((2, 2)), 0.4, 20, schedule=GRID, machine=WITH_CONTROL)
    result = cy.run(program, backend="sim")
    (steps,) = result.steps.values()
    between_workers = sum(one["messages"] for one in result.stats["channels"])
    control = program.control_system
    (flags,) = [one for one in control.tensors if one["role"] == "input"]
    run = cy.run(control, np.arange(flags["shape"][0]) < steps, backend="sim")
    told = {one["name"]: one["messages"] for one in run.stats["channels"]}
    assert told["flag beside"] == told["flag up"] == told["goes on"] / 3 > 1
    numbers_sent = [run.outputs[name].tolist() for name in run.outputs if name.startswith("calls")]
    assert list(itertools.chain(*numbers_sent)) == list(range(1, 1 + program.roles.controller.calls))
    assert between_workers >= 3 * steps


def test_a_program_needs_no_host(tmp_path):
    """MA-034: its file is loaded and runs in a process that does not have the kernel."""
    x = numbers(3, 3)
    halved.compile(x, 0.2, 9, schedule=GRID, machine=WITH_CONTROL).save(tmp_path / "halved.cyc")
    np.save(tmp_path / "x.npy", x)
    text = (
        "import sys, numpy as np, cyclotron as cy; folder = sys.argv[1];"
        "found = cy.run(cy.load(folder + '/halved.cyc'), np.load(folder + '/x.npy'), backend='sim').output;"
        "np.save(folder + '/found.npy', found)"
    )
    subprocess.run([sys.executable, "-c", text, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), halved.reference(x, 0.2, 9))


def test_slices_keep_to_their_pes():
    """MA-046, MA-082: PEs outside a slice compute nothing, and no word leaves the grid."""

    @cy.kernel
    def inner(x, y):
        x[1:3, 1:4] += y[1:3, 1:4] * 2
        return x

    result = simulated(inner, numbers(4, 5), numbers(4, 5))
    inside = np.zeros((4, 5), bool)
    inside[1:3, 1:4] = True
    assert ((result.stats["flops"] > 0) == inside).all()
    assert sum(one["messages"] for one in result.stats["channels"]) == 0


def test_classes_take_the_place_of_masks():
    """MA-047 to MA-049: what filters of 0 and 1 in each PE do, without a word for them, or a cycle.

    A PE computes a length of 4, or of 0: the length of a call times its filter. Each combination of slices is
    one class, however often it is used: MACH's unique slicings.
    """

    @cy.kernel
    def sliced(x, y, steps):
        for _ in range(steps):
            x[1:3, 1:4] += y[1:3, 1:4] * 2
            x[1:3, 1:4] -= y[1:3, 1:4]
            x[:2] *= 0.5
        return x

    @cy.kernel
    def filtered(x, y, inside, top, steps):
        for _ in range(steps):
            x = cy.where(inside, x + y * 2, x)
            x = cy.where(inside, x - y, x)
            x = cy.where(top, x * 0.5, x)
        return x

    x, y, length, steps = numbers(4, 5, 4), numbers(4, 5, 4) + 1, 4, 3
    inside, top = np.zeros((4, 5, 1), bool), np.zeros((4, 5, 1), bool)
    inside[1:3, 1:4], top[:2] = True, True
    whole = [np.broadcast_to(one, x.shape).copy() for one in (inside, top)]
    own, other = simulated(sliced, x, y, steps), simulated(filtered, x, y, *whole, steps)
    np.testing.assert_array_equal(own.output, other.output)
    computed = 3 * inside[..., 0].astype(int) + top[..., 0]  # operators an element and step
    assert (own.stats["flops"] == steps * length * computed).all()
    assert (own.stats["busy"] < other.stats["busy"]).all()
    regions = [one.region for one in own.program.classes]
    assert len(regions) <= len(set(map(tuple, np.stack([inside, top], -1).reshape(-1, 2))))
    assert (own.stats["words_loaded"] < other.stats["words_loaded"]).all()


def test_pes_that_do_not_take_part_still_take_the_words():
    """MA-010, MA-050: a PE that has no part in a call takes its words and does nothing; none waits for it."""

    @cy.kernel
    def corner(x, least, steps):
        for _ in range(steps):
            x[0:1, 0:1] = x[0:1, 0:1] * 0.25
            x = x * 0.5
            if cy.sum(x) < least:
                break
        return x

    result = simulated(corner, np.ones((4, 4)), 0.01, 20, machine=cy.Machine(control=cy.Control(setup=50)))
    calls = (result.stats["stall_control"] - result.stats["wait_control"]) // 50
    every = result.program.roles.sections
    assert calls.max() <= len(every[0].calls) + 20 * len(every[1].calls) + len(every[2].calls)
    assert calls[0, 0] > calls[3, 3] >= min(result.steps.values()) - 1


def test_values_by_rank():
    """MA-053, MA-055, MA-056: a scalar a PE, arrays of up to four dense dimensions in it."""
    for rank in range(2, 7):
        x = numbers(*(2, 3, 2, 2, 2, 2)[:rank])
        result = simulated(axpy, x, x + 1)
        assert result.program.grid == (2, 3)
        elements = x.size // 6
        assert (result.stats["words_loaded"] == 2 * elements).all()


def test_plain_arrays_have_the_places_of_their_classes():
    """MA-063: with 3, 2 and 1 dimensions and none: local array and scalar, global array and scalar."""

    @cy.kernel
    def all_kinds(la, ls, ga, most):
        gs = 0.0
        for value in ga:
            gs = gs + value
            if gs > most:
                break
            la = la * 0.5 + ls[:, :, None]
        return la, gs

    la, ls, ga = numbers(3, 4, 5), numbers(3, 4), np.arange(6.0)
    control = cy.Control(global_data=True)
    result = simulated(all_kinds, la, ls, ga, 7.0, machine=cy.Machine(grid=(3, 4), control=control))
    program = result.program
    assert program.grid == (4, 4)
    held = {
        role: {name for one in program.roles if one.name == role for name in one.tensors}
        for role in ("worker", "executive")
    }
    names = [tensor["name"] for tensor in program.tensors]
    assert held["executive"] == {"ga", *(name for name in names if name.startswith("gs"))}
    assert {"la", "ls"} <= held["worker"]
    loaded = result.stats["words_loaded"]
    assert (loaded[:3] >= 5 + 1).all()  # a dense dimension in each worker, and an element
    assert np.count_nonzero(loaded[3]) == 1


def test_operators_build_the_graph():
    """MA-059, MA-088 to MA-090: nodes are operations in the order of numbers, temporaries among them."""
    graph = axpy.graph(numbers(2, 2), numbers(2, 2))
    assert [(node.kind, node.op) for node in graph][-2:] == [("temporary", "multiply"), ("operation", "add")]
    assert all(edge.source < number for number, node in enumerate(graph) for edge in node.edges)


def test_functions_take_arrays_of_numpy_too():
    """MA-062: outside of kernels they are NumPy's."""
    x = numbers(3, 4)
    assert cy.sum(x) == np.sum(x)
    np.testing.assert_array_equal(cy.maximum(x, 0.5), np.maximum(x, 0.5))


def test_hosts_code_runs_while_tracing_and_ignored_code_only_in_python():
    """MA-064, MA-065, MA-075: neither is in the program; data come from NumPy's generators there."""
    ran = []

    @cy.kernel
    def scaled(x):
        with cy.host():
            ran.append("host")
            factors = np.random.default_rng(0).random(3)
        y = x * factors[0] + cy.zeros_like(x)
        with cy.ignore():
            ran.append("ignored")
        return y

    x = numbers(2, 2)
    program = scaled.compile(x, schedule=GRID)
    assert ran == ["host"]
    ran.clear()
    np.testing.assert_array_equal(cy.run(program).output, x * np.random.default_rng(0).random(3)[0])
    assert ran == []
    scaled.reference(x)
    assert ran == ["host", "ignored"]


def test_loops_over_arrays_are_loops_and_over_tuples_are_not():
    """MA-067, MA-068, MA-080: a loop over an array stays one, a Python iterable is unrolled at trace time."""

    @cy.kernel
    def device(x, g):
        for value in g:
            x = x * value
        return x

    @cy.kernel
    def python(x):
        for value in (0.5, 1.5, 2.5):
            x = x * value
        return x

    x, g = numbers(2, 2), np.array([0.5, 1.5, 2.5])
    assert "il.parts('value_at'" in device.il(x, g)
    assert [node.kind for node in device.graph(x, g)].count("loop") == 1
    assert "loop" not in [node.kind for node in python.graph(x)]
    np.testing.assert_array_equal(cy.run(device, x, g).output, cy.run(python, x).output)


def test_the_papers_listing_in_the_intermediate_language():
    """MA-069 to MA-072, MA-077, MA-079 to MA-081: a loop and its end, slices, names, float32, a sum."""
    la, ga = mach_listing.problem()
    text = mach_listing.listing.il(la, ga)
    assert "name='myGS'" in text
    assert "with il.loop('gs_at', gs_at_rows, running=gs_at_runs) as gs_at:" in text
    assert "il.stop(gs_at_runs, myGS[0] > 100.0)" in text
    assert "myLA[1:4, 3:5, 1:2] += il.term(myLA[1:4, 3:5, 8:9])" in text
    ast.parse(text)
    result = cy.run(mach_listing.listing.compile(la, ga, schedule=mach_listing.WORKERS), backend="sim")
    assert {value.dtype for value in result.outputs.values()} == {np.dtype("float32")}
    for found, right in zip(result.outputs.values(), mach_listing.listing.reference(la, ga), strict=True):
        np.testing.assert_array_equal(found, right)


def test_the_intermediate_language_is_a_program(tmp_path):
    """MA-087: a module of it compiles to the same program."""
    la, ga = mach_listing.problem()
    file = tmp_path / "listing_il.py"
    file.write_text(mach_listing.listing.il(la, ga))
    spec = importlib.util.spec_from_file_location("listing_il", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = cy.run(module.listing.compile(la, ga, schedule=mach_listing.WORKERS), backend="sim")
    for found, right in zip(result.outputs.values(), mach_listing.listing.reference(la, ga), strict=True):
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("given", [(numbers(2), 3), (1.0, 2.5)])
def test_arguments_are_of_their_declared_types(given):
    """MA-086: else a kernel is refused."""

    @cy.kernel
    def scaled(x: float, n: int):
        return x * n

    with pytest.raises(cy.TraceError, match="is declared as") as refused:
        scaled.compile(*given)
    assert refused.value.code == "CYC124"


def test_sizes_are_of_extent_and_dtype_and_refusals_name_what_is_live():
    """MA-098, MA-099: half as large in half the precision, on even addresses; the peak's values are told."""

    @cy.kernel
    def summed(x, y):
        z = x * 2 + y
        w = cy.sum(z, axis=1)
        return z, w

    programs = {}
    for dtype in ("float32", "float64"):
        x = numbers(4, 32).astype(dtype)
        programs[dtype] = summed.compile(x, x, schedule=cy.Schedule().space("i"))
    assert 2 * programs["float32"].memory_bytes == programs["float64"].memory_bytes
    for program in programs.values():
        for one in mutants.text_of(program.core.to_bytes())[0]["classes"]:
            assert all(slot["address"] % 2 == 0 for slot in one["slots"])
    small = cy.Machine(pe=cy.PE(memory=16))
    with pytest.raises(cy.CapacityError, match="needs 32 bytes") as refused:
        summed.compile(numbers(4, 32), numbers(4, 32), schedule=cy.Schedule().space("i"), machine=small)
    assert refused.value.code == "CYC501"
    assert all(f"`{name}` takes 8 bytes" in str(refused.value) for name in ("x", "y", "w"))


def test_control_and_workers_have_footprints_of_their_own():
    """MA-097: the control system's PEs hold tables and words, the workers' the arrays."""
    program = halved.compile(np.ones((4, 4)), 0.4, 20, schedule=GRID, machine=WITH_CONTROL)
    text = str(program.control_system.memory)
    assert all(name in text for name in ("executive", "response 0", "response 1", "merge", "calls"))
    assert "calls" not in str(program.memory)
    assert program.control_system.memory_bytes != program.memory_bytes


def test_results_are_plain_arrays():
    """MA-073: for plots and all else."""
    assert type(simulated(axpy, numbers(2, 2), numbers(2, 2)).output.view(np.ndarray)) is np.ndarray


def test_no_place_is_tested_at_run_time():
    """MA-119: what differs by region is a class of its own, without conditions on the PE's coordinates."""

    @cy.kernel
    def borders(x):
        y = cy.zeros_like(x)
        y[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1]
        return y

    program = borders.compile(numbers(5, 6), schedule=GRID)
    assert len(program.classes) == 2
    assert not any(" if " in str(one) for one in program.classes)


def test_neighbours_exchange_at_once():
    """MA-124, MA-136: both ways in one hop."""

    @cy.kernel
    def swapped(x):
        x = x * 2
        y = cy.zeros_like(x)
        y[1:-1] = x[:-2] + x[2:]
        return y

    x, schedule = numbers(6), cy.Schedule().space("i")
    cycles = [
        simulated(swapped, x, schedule=schedule, machine=cy.Machine(link=cy.Link(latency=n))).cycles
        for n in (1, 2, 9)
    ]
    assert cycles[1] - cycles[0] == 1
    assert cycles[2] - cycles[0] == 8


def test_only_programs_that_need_a_controller_have_one():
    """MA-127: no section, flag, or channel of it is in others."""
    x = numbers(2, 2)
    static = axpy.compile(x, x, schedule=GRID, machine=WITH_CONTROL)
    assert static.control_system is None
    assert static.roles.controller is None
    assert len(static.sections) == 1
    assert len(static.channels) == 0


@pytest.mark.parametrize("hops", [1, 3])
def test_slices_along_pes_are_messages(hops):
    """MA-134: over any distance, by the PEs between."""

    @cy.kernel
    def shifted(x):
        x = x * 2
        y = cy.zeros_like(x)
        y[hops:] = x[:-hops]
        return y

    result = simulated(shifted, numbers(8), schedule=cy.Schedule().space("i"))
    assert sum(one["messages"] for one in result.stats["channels"]) >= 8 - hops
    assert result.cycles <= 8 + 2 * hops


def test_time_is_that_of_the_dimension_in_memory():
    """MA-135: in proportion to L, whatever N and M are."""
    cycles = {
        shape: simulated(axpy, numbers(*shape), numbers(*shape)).cycles
        for shape in [(2, 2, 8), (4, 3, 8), (2, 2, 16), (4, 3, 32)]
    }
    assert cycles[2, 2, 8] == cycles[4, 3, 8]
    assert cycles[2, 2, 16] == 2 * cycles[2, 2, 8]
    assert cycles[4, 3, 32] == 4 * cycles[4, 3, 8]


def test_a_link_passes_a_word_a_cycle():
    """MA-136, MA-137: over several hops too, whose latency is paid once."""

    @cy.kernel
    def streamed(x):
        y = cy.zeros((4, 64))
        for i in range(4):
            for k in range(64):
                y[i, k] = x[k] * 2
        return y

    schedule = cy.Schedule().space("i").time("k").stream("x", along="i")
    machines = [cy.Machine(link=cy.Link(latency=n, depth=8)) for n in (1, 2)]
    results = [simulated(streamed, numbers(64), schedule=schedule, machine=one) for one in machines]
    assert results[0].cycles <= 64 + 8
    assert results[1].cycles - results[0].cycles == 3


def test_the_wafers_pes():
    """MA-138, MA-142: 48 KB and 24 colors."""
    machine = cy.machines.wse2(4, 4)
    assert machine.pe.memory == 48 * 1024
    assert machine.pe.channels == 24


@cy.kernel
def gather_mul(s0, s1, index):
    """Listing 14 without its channel: the products stay in their PE."""
    found = cy.empty(s1.shape)
    for p in range(s1.shape[0]):
        for i in range(s1.shape[1]):
            found[p, i] = s0[p, index[p, i]] * s1[p, i]
    return found


@cy.kernel
def gather_mul_send(s0, s1, index):
    """Listing 14: each PE sends its products on, and adds those that it is sent to its own."""
    found, sums = cy.empty(s1.shape), cy.empty(s1.shape)
    for p in range(s1.shape[0]):
        for i in range(s1.shape[1]):
            found[p, i] = s0[p, index[p, i]] * s1[p, i]
            sums[p, i] = found[p, i] if p == 0 else found[p - 1, i] + found[p, i]
    return sums


@pytest.mark.parametrize("length", [16, 64])
def test_operands_and_results_are_channels(length):
    """MA-131: a product on its way to a channel takes no cycle and no memory more, nor does an operand."""
    rng = np.random.default_rng(length)
    arguments = rng.random((4, length)), rng.random((4, length)), rng.integers(0, length, (4, length))
    schedule = cy.Schedule().space("p").time("i")
    kept = simulated(gather_mul, *arguments, schedule=schedule)
    sent = simulated(gather_mul_send, *arguments, schedule=schedule)
    busy = sent.stats["busy"] - kept.stats["busy"]
    assert busy.tolist() == [0, length, length, length]  # the sums
    assert sum(one["messages"] for one in sent.stats["channels"]) == 3 * length
    assert sent.program.memory_bytes == kept.program.memory_bytes < 2 * 8 * length + 64
    assert sent.cycles <= kept.cycles + length + 3 * 4


@cy.kernel
def sum_of_rows(x):
    return cy.sum(x[1:])


@cy.kernel
def sum_of_products(x):
    return cy.sum(x[:, 1:3] * 2)


@cy.kernel
def most_of_last(x):
    return cy.max(x[..., 2], axis=0)


@cy.kernel
def sum_of_all(x):
    return cy.sum(x)


@pytest.mark.parametrize(
    ("kernel", "select"),
    [
        (sum_of_rows, lambda x: x[1:]),
        (sum_of_products, lambda x: x[:, 1:3]),
        (most_of_last, lambda x: x[..., 2]),
        (sum_of_all, lambda x: x),
    ],
)
def test_dimensions_without_a_slice_are_read_whole(kernel, select):
    """MA-083: an access of the graph has a range for each of them, those that are reduced too."""
    x = np.arange(4 * 3 * 5).reshape(4, 3, 5)
    graph = kernel.graph(x)
    (edge,) = (edge for node in graph for edge in node.edges if edge.address == "x")
    parts = edge.access.strip("[]").split(", ") if edge.access else [f"0:{extent}" for extent in x.shape]
    assert len(parts) == x.ndim == len(edge.index)
    ranges = tuple(slice(*map(int, part.split(":"))) if ":" in part else int(part) for part in parts)
    np.testing.assert_array_equal(x[ranges], select(x))
    (found,) = graph.evaluate().values()
    np.testing.assert_array_equal(found, kernel.reference(x))
