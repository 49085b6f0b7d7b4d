"""Whole numbers of four bits, two in a byte, beside those of `ml_dtypes`; their arrays are refused."""

import numpy as np
import pytest

import cyclotron as cy

ml_dtypes = pytest.importorskip("ml_dtypes")


@cy.kernel
def signed(P, B_even, B_odd):
    low, high = (P << 4).astype("int8") >> 4, P.astype("int8") >> 4
    return cy.matmul(low, B_even, dtype="int32") + cy.matmul(high, B_odd, dtype="int32")


@cy.kernel
def unsigned(P, B_even, B_odd):
    low, high = (P << 4).astype("uint8") >> 4, P.astype("uint8") >> 4
    return cy.matmul(low, B_even, dtype="int32") + cy.matmul(high, B_odd, dtype="int32")


@pytest.mark.parametrize("backend", ["sim", "local", "mpi"])
@pytest.mark.parametrize(("dtype", "kernel"), [("int4", signed), ("uint4", unsigned)])
def test_products_of_packed_numbers_are_those_of_ml_dtypes(dtype, kernel, backend):
    if backend == "mpi":
        pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    limits, generator = ml_dtypes.iinfo(dtype), np.random.default_rng(4)
    A, B = (
        generator.integers(int(limits.min), int(limits.max) + 1, shape, dtype="int8").astype(dtype)
        for shape in ((5, 8), (8, 3))
    )
    bits, wide = A.astype("int8").view("uint8") & 15, B.astype(dtype.replace("4", "8"))
    program = kernel.compile(bits[:, ::2] | bits[:, 1::2] << 4, wide[::2], wide[1::2])
    found = cy.run(program, backend=backend).output
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, A.astype("int32") @ B.astype("int32"))


@cy.kernel
def doubled(x):
    return x + x


@cy.kernel
def declared(x):
    return x.astype("uint4")


@pytest.mark.parametrize(
    ("kernel", "dtype", "wide"),
    [(doubled, "int4", "int8"), (doubled, "uint4", "uint8"), (declared, "int8", "uint8")],
)
def test_arrays_of_them_are_refused_with_advice(kernel, dtype, wide):
    with pytest.raises(cy.ShapeError, match="CYC120") as refused:
        kernel.compile(np.zeros(4, "int8").astype(dtype))
    assert f'`x.astype("{wide}")`' in refused.value.help
    assert f'`(p << 4).astype("{wide}") >> 4`' in refused.value.help
