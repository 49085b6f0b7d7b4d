"""Units that compute on some dtypes: NumPy's bits on all backends, cycles of the array alone, refusals."""

import dataclasses
import itertools

import numpy as np
import pytest

import cyclotron as cy

MAC = cy.Unit(dtypes=("int8", "uint8"), accumulator="int32")
BACKENDS = ("sim", "local", "mpi")


@cy.kernel
def product(A, B):
    return cy.matmul(A, B, dtype="int32")


@cy.kernel
def plain_product(A, B):
    return A @ B


@cy.kernel
def looped_product(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]), dtype="int32")
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k].astype("int32") * B[k, j].astype("int32")
    return C


@cy.kernel
def biased_product(A, B, bias):
    C = cy.matmul(A, B, dtype="int32") + bias
    return cy.maximum(C, 0)


@cy.kernel
def product_and_sum(A, B):
    wide = A.astype("int32")
    return wide @ B.astype("int32"), cy.sum(wide, axis=1)


@cy.kernel
def product_of_tiles(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]), dtype="int32")
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k].astype("int32") @ B[k, j].astype("int32")
    return C


def bytes_of(shape, dtype="int8", seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape, dtype=dtype)


def exact(A, B):
    """The sums of int32, from Python's integers."""
    sums = A.astype(object) @ B.astype(object)
    return ((sums + 2**31) % 2**32 - 2**31).astype(np.int32)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtypes", list(itertools.product(("int8", "uint8"), repeat=2)))
@pytest.mark.parametrize("name", ["gemmini_16", "tpu_v1"])
def test_products_are_numpys(name, dtypes, backend):
    if name == "gemmini_16" and "uint8" in dtypes:
        pytest.skip("Gemmini's usual instance has no unsigned operands")
    if backend == "mpi":
        pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    machine = getattr(cy.machines, name)()
    for seed, (m, k, n) in enumerate([(3, 5, 4), (16, 40, 7)]):
        A, B = bytes_of((m, k), dtypes[0], seed), bytes_of((k, n), dtypes[1], seed + 9)
        for kernel, recipe in itertools.product(
            (product, looped_product), (cy.schedules.output_stationary, cy.schedules.weight_stationary)
        ):
            if recipe is cy.schedules.weight_stationary and k > machine.grid[0]:
                continue
            program = kernel.compile(A, B, schedule=recipe(kernel), machine=machine)
            found = cy.run(program, backend=backend).output
            assert found.dtype == np.int32
            assert np.array_equal(found, exact(A, B))


@pytest.mark.parametrize("recipe", ["output_stationary", "weight_stationary"])
def test_a_conversion_takes_no_cycle(recipe):
    """As long as the same array takes for numbers of 32 bits."""
    A, B = bytes_of((4, 6)), bytes_of((6, 5))
    narrow = dataclasses.replace(cy.machines.gemmini_16(), grid=(8, 8))
    wide = dataclasses.replace(cy.machines.gemmini_16("int32"), grid=(8, 8))
    schedule = getattr(cy.schedules, recipe)
    ours = cy.run(product.compile(A, B, schedule=schedule(product), machine=narrow), backend="sim")
    A, B = A.astype("int32"), B.astype("int32")
    theirs = cy.run(
        plain_product.compile(A, B, schedule=schedule(plain_product), machine=wide), backend="sim"
    )
    assert ours.cycles == theirs.cycles
    assert np.array_equal(ours.output, theirs.output)


@pytest.mark.parametrize("latency", [1, 3])
@pytest.mark.parametrize("overlap", [False, True])
def test_one_cell_by_hand(latency, overlap):
    """Of n products into one sum each waits for the one before; the conversions of the next do not."""
    unit = cy.Unit((), cycles=1, latency=latency, dtypes=("int8",), accumulator="int32")
    machine = cy.Machine(grid=(1, 1), pe=cy.PE(scalar=unit, overlap=overlap))
    A, B = bytes_of((1, 7)), bytes_of((7, 1))
    program = product.compile(A, B, machine=machine)
    result = cy.run(program, backend="sim")
    assert result.output == exact(A, B)
    assert result.cycles == 7 * latency
    assert cy.run(program, backend="sim", engine="general", functional=False).cycles == 7 * latency


def test_without_an_accumulator_conversions_are_instructions():
    A, B = bytes_of((1, 7)), bytes_of((7, 1))
    for unit in (cy.Unit(()), cy.Unit((), dtypes=("int8", "int32"))):
        machine = cy.Machine(grid=(1, 1), pe=cy.PE(scalar=unit))
        assert cy.run(product.compile(A, B, machine=machine), backend="sim").cycles == 3 * 7
    named = cy.Machine(grid=(1, 1), pe=cy.PE(scalar=MAC, cycles={"to_int32": 2}))
    assert cy.run(product.compile(A, B, machine=named), backend="sim").cycles == 5 * 7


def test_tiles_on_a_matrix_unit():
    unit = cy.Unit((4, 4, 4), cycles=4, dtypes=("int8",), accumulator="int32")
    machine = cy.Machine(grid=(2, 2), pe=cy.PE(matrix=unit))
    A, B = bytes_of((8, 12)), bytes_of((12, 8))
    tiles = cy.blocked(A, (4, 4)), cy.blocked(B, (4, 4))
    schedule = cy.schedules.output_stationary(product_of_tiles)
    program = product_of_tiles.compile(*tiles, schedule=schedule, machine=machine)
    result = cy.run(program, backend="sim")
    assert np.array_equal(result.output, exact(A, B))
    assert (result.stats["busy"] == 3 * 4).all()  # three passes


def test_what_else_is_done_in_the_accumulators_dtype():
    machine = cy.Machine(grid=(4, 4), pe=cy.PE(scalar=MAC))
    A, B, bias = bytes_of((4, 6)), bytes_of((6, 4)), np.arange(4, dtype=np.int32)
    for backend in ("sim", "local"):
        program = biased_product.compile(A, B, bias, machine=machine)
        assert np.array_equal(cy.run(program, backend=backend).output, np.maximum(exact(A, B) + bias, 0))


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint16", "int64", "float32", "float64", "complex128"])
def test_other_dtypes_are_refused(dtype):
    A = np.ones((3, 3), dtype)
    with pytest.raises(cy.ShapeError, match=f"CYC406.*|`multiply.*is on {dtype}") as caught:
        plain_product.compile(A, A, machine=cy.machines.gemmini_16())
    assert caught.value.code == "CYC406"
    assert "return A @ B" in str(caught.value)
    assert 'dtype="int32"' in str(caught.value)


def test_programs_are_refused_on_other_machines():
    A = np.ones((3, 3))
    program = plain_product.compile(A, A, machine=cy.Machine(grid=(4, 4)))
    with pytest.raises(cy.ShapeError, match="CYC406"):
        program.with_machine(cy.Machine(grid=(4, 4), pe=cy.PE(scalar=MAC)))


@cy.kernel
def products_of_one_factor(A, B, C):
    wide = A.astype("int32")
    return wide @ B.astype("int32"), cy.matmul(C, A, dtype="int32") * 3


@pytest.mark.parametrize("seed", range(6))
def test_other_uses_of_factors(seed):
    """Wide numbers that are added, too, and factors of two products: right, or refused with the line."""
    dice = np.random.default_rng(seed)
    m, k, n = dice.integers(1, 7, 3)
    A, B, C = bytes_of((m, k), seed=seed), bytes_of((k, n), seed=seed), bytes_of((n, m), seed=seed)
    machine = cy.Machine(grid=tuple(dice.integers(1, 5, 2)), pe=cy.PE(scalar=MAC))
    for kernel, args, expected in (
        (product_and_sum, (A, B), (exact(A, B), A.sum(axis=1, dtype=np.int32))),
        (products_of_one_factor, (A, B, C), (exact(A, B), exact(C, A) * 3)),
    ):
        try:
            program = kernel.compile(*args, machine=machine)
        except cy.ShapeError as error:
            text = str(error)
            assert "CYC406" in text and "test_unit_dtypes.py" in text  # noqa: PT018
            continue
        for backend in ("sim", "local"):
            found = cy.run(program, backend=backend).outputs.values()
            assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"dtypes": ("int9",)}, "unit.dtypes"),
        ({"dtypes": ()}, "empty"),
        ({"dtypes": 3}, "unit.dtypes"),
        ({"accumulator": "int32"}, "are all"),
        ({"dtypes": ("int32",), "accumulator": "int16"}, "does not hold all of int32"),
        ({"dtypes": ("float32",), "accumulator": "int64"}, 'accumulator="float32"'),
        ({"dtypes": ("int8",), "accumulator": "wide"}, "unit.accumulator"),
    ],
)
def test_units_that_are_none_are_refused(fields, text):
    with pytest.raises(cy.ShapeError, match=text):
        cy.Unit(**fields)


def test_units_in_files(tmp_path):
    machine = cy.Machine(pe=cy.PE(scalar=cy.Unit(dtypes=(np.int8, "uint8"), accumulator=np.int32)))
    assert machine.pe.scalar == MAC
    machine.save(tmp_path / "machine.toml")
    assert cy.Machine.load(tmp_path / "machine.toml") == machine
    program = product.compile(bytes_of((2, 3)), bytes_of((3, 2)), machine=machine)
    program.save(tmp_path / "program.cyc")
    again = cy.load(tmp_path / "program.cyc")
    assert again.machine.pe == machine.pe
    assert "of int8, uint8 in int32" in str(machine)
    assert "of int8, uint8 in int32" in str(program)
