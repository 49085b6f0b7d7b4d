"""Whole numbers of 8 to 64 bits, with and without sign: NumPy's bits and dtypes on all backends."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

NARROW = ("int8", "uint8", "int16", "uint16", "uint32", "uint64")
WHOLE = (*NARROW, "int32", "int64")


def numbers(dtype: str, *shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """All bits at random, and the ends of the range."""
    limits = np.iinfo(dtype)
    drawn = np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    drawn.flat[0], drawn.flat[-1] = limits.min, limits.max
    return drawn


def same(found: Any, right: Any) -> None:
    """Compare bits and dtypes."""
    found, right = np.asarray(found), np.asarray(right)
    assert found.dtype == right.dtype
    assert found.tobytes() == right.tobytes()


def on_backends(
    program: cy.Program, right: Any, backends: tuple[str, ...] = ("numpy", "sim", "local")
) -> None:
    """Compare what each backend gives."""
    for backend in backends:
        same(cy.run(program, backend=backend).output, right)  # type: ignore[arg-type]


def kernel_of(text: str, names: str = "cy") -> Any:
    """A kernel of one argument that returns an expression, and the same function of NumPy."""
    lines = f"def kernel(x):\n    return {text}\n"
    file = f"<narrow {names} {text}>"
    linecache.cache[file] = (len(lines), None, lines.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "cy": cy}
    exec(compile(lines, file, "exec"), scope)
    return scope["kernel"]


@cy.kernel
def product(A, B):
    return A @ B


@cy.kernel
def wide_product(A, B):
    return cy.matmul(A, B, dtype=np.int32)


@cy.kernel
def converted_product(A, B):
    return A.astype(np.int32) @ B.astype(np.int32)


@cy.kernel
def loops(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]), dtype="int32")
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k].astype("int32") * B[k, j].astype("int32")
    return C


@pytest.mark.parametrize("dtype", WHOLE)
def test_products_without_an_accumulator_wrap(dtype: str) -> None:
    A, B = numbers(dtype, 3, 5), numbers(dtype, 5, 4, seed=1)
    on_backends(product.compile(A, B), A @ B)


@pytest.mark.parametrize("kernel", [wide_product, converted_product, loops])
def test_products_of_bytes_in_32_bits(kernel: Any) -> None:
    A, B = numbers("int8", 4, 6), numbers("int8", 6, 5, seed=1)
    on_backends(kernel.compile(A, B), np.matmul(A, B, dtype=np.int32))


@pytest.mark.parametrize("tile", [(2, 2), (2, 3)])
@pytest.mark.parametrize("dtype", WHOLE)
def test_tiles(dtype: str, tile: tuple[int, int]) -> None:
    @cy.kernel
    def tiled(A, B):
        C = cy.empty((A.shape[0], B.shape[1]))
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                C[i, j] = sum(A[i, k] @ B[k, j] - A[i, k] @ B[k, j] * 2 for k in range(A.shape[1]))
        return C

    A, B = numbers(dtype, 4, 6), numbers(dtype, 6, 4, seed=1)
    program = tiled.compile(cy.blocked(A, tile), cy.blocked(B, tile[::-1]))
    on_backends(program, A @ B - (A @ B) * np.dtype(dtype).type(2))


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize(
    "name", ["sum", "prod", "cumsum", "max", "min", "mean", "any", "trace", "argmax", "var"]
)
def test_folds(dtype: str, name: str) -> None:
    x = numbers(dtype, 4, 4)
    right = getattr(np, name)(x)
    kernel = cy.kernel(kernel_of(f"cy.{name}(x)"))
    if name in ("mean", "var"):
        found = kernel(x)
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=1e-12)
    else:
        same(kernel(x), right)


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize(
    "of", ["vdot(x, x)", "inner(x, x)", "outer(x, x)", "kron(x, x)", "dot(x, x)",
           "diff(x)", "einsum('i,i->', x, x)", "sort(x)", "clip(x, 3, 20)", "roll(x, 1)", "x[::-1]"]
)  # fmt: skip
def test_functions_of_vectors(dtype: str, of: str) -> None:
    x = numbers(dtype, 6)
    call = of if of.startswith("x") else f"np.{of}"
    same(cy.kernel(kernel_of(call))(x), kernel_of(call)(x))


@pytest.mark.parametrize(
    ("given", "kept"), itertools.product(("int8", "uint8", "int16"), ("int16", "int32", "int64"))
)
def test_declared_sums(given: str, kept: str) -> None:
    x = numbers(given, 3, 50)

    @cy.kernel
    def declared(x):
        return cy.sum(x, axis=1, dtype=kept), x.sum(axis=1, dtype=kept), cy.cumsum(x, axis=1, dtype=kept)

    for found, right in zip(
        declared(x), (x.sum(1, dtype=kept), x.sum(1, dtype=kept), x.cumsum(1, dtype=kept)), strict=True
    ):
        same(found, right)


@pytest.mark.parametrize("text", ["cy.sum(x, dtype='int8')", "x.sum(dtype='uint16')",
                                  "cy.cumsum(x, dtype='int8')", "cy.matmul(x, x, dtype='int8')"])  # fmt: skip
def test_accumulators_narrower_than_their_terms_are_refused(text: str) -> None:
    kernel = cy.kernel(kernel_of(text))
    with pytest.raises(cy.ShapeError, match="does not hold their terms, of int16"):
        kernel.compile(numbers("int16", 3, 3))


def test_mixed_products_are_numpys() -> None:
    for one, other in itertools.product(WHOLE, WHOLE):
        A, B = numbers(one, 2, 3), numbers(other, 3, 2, seed=1)
        if np.result_type(A, B).kind == "f":
            continue
        same(product(A, B), A @ B)


def test_constants_of_64_bits_without_sign() -> None:
    x = numbers("uint64", 5)
    most = 2**64 - 1

    @cy.kernel
    def shifted(x):
        return (x // 3) ^ most, x - 18446744073709551615, cy.where(x > 2**63 + 1, x, 2**63 + 3)

    for found, right in zip(
        shifted(x),
        ((x // 3) ^ np.uint64(most), x - np.uint64(most), np.where(x > 2**63 + 1, x, 2**63 + 3)),
        strict=True,
    ):
        same(found, right)


@pytest.mark.parametrize("dtype", NARROW)
def test_numbers_that_do_not_fit_are_refused(dtype: str) -> None:
    number = int(np.iinfo(dtype).max) + 1
    kernel = cy.kernel(kernel_of(f"x + {number}"))
    with pytest.raises(cy.ShapeError, match=f"arrays of dtype {dtype}, which end at {number - 1}"):
        kernel.compile(numbers(dtype, 3))


def test_indices_that_a_narrow_type_does_not_hold_are_refused() -> None:
    @cy.kernel
    def far(x):
        y = cy.zeros((200,), dtype="int8")
        for i in range(200):
            y[i] = x[i] + i
        return y

    with pytest.raises(cy.ShapeError, match="int8"):
        far.compile(numbers("int8", 200))


def test_narrow_types_take_their_bytes() -> None:
    def bytes_of(dtype: str) -> int:
        A = np.ones((8, 8), dtype)
        return int(product.compile(A, A).memory_bytes)

    assert bytes_of("int8") * 8 <= bytes_of("int64") + 7


def test_saved_programs(tmp_path: Any) -> None:
    A, B = numbers("uint8", 3, 4), numbers("uint8", 4, 3, seed=1)
    product.compile(A, B).save(tmp_path / "product.json")
    loaded = cy.load(tmp_path / "product.json")
    same(cy.run(loaded, A, B, backend="local").output, A @ B)


def accumulators(np: Any) -> list[Any]:
    """Functions that add in arrays without a dtype, with the functions of a package."""

    def zero(x: Any) -> Any:
        s = np.zeros(())
        for i in range(len(x)):
            s += x[i]
        return s

    def ones(x: Any) -> Any:
        s = np.ones(len(x))
        s += x
        s += x
        return s

    def half(x: Any) -> Any:
        s = np.full(3, 0.5)
        for i in range(3):
            s[i] += x[i]
        return s

    return [zero, ones, half]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "float16", "int32", "int64"])
@pytest.mark.parametrize("number", range(3), ids=["zero", "ones", "half"])
def test_arrays_without_a_dtype_hold_the_sums_of_narrow_numbers(dtype: str, number: int) -> None:
    most = 128 if "int" not in dtype else min(np.iinfo(dtype).max, 100_000)
    x = np.full(5, most, dtype)[:3] if number == 2 else np.full(5, most, dtype)
    kernel = cy.kernel(accumulators(cy)[number])
    expected = accumulators(np)[number](x)
    program = kernel.compile(x)
    for found in (kernel.reference(x), *(cy.run(program, backend=b).output for b in ("sim", "local"))):
        np.testing.assert_array_equal(found, expected)
        keeps = dtype == "float16" or (dtype in ("int32", "int64") and number != 2)
        assert found.dtype == (dtype if keeps else np.float64)


def test_tiles_without_a_dtype_keep_that_of_narrow_inputs() -> None:
    @cy.kernel
    def doubled(A: Any) -> Any:
        C = cy.zeros(A.shape)
        for i in range(A.shape[0]):
            C[i] = A[i] + A[i]
        return C

    found = cy.run(doubled.compile(cy.blocked(np.ones(4, "int8"), 2)), backend="sim").output
    assert found.dtype == np.int8
    assert found.tolist() == [2] * 4


@pytest.mark.parametrize("fill", [0.5, -1.5, np.inf, 1j])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "complex64"])
def test_full_holds_its_number_beside_any_inputs(fill: complex, dtype: str) -> None:
    @cy.kernel
    def filled(x: Any) -> Any:
        return cy.full(3, fill), x

    x = np.arange(3).astype(dtype)
    found = cy.run(filled.compile(x), backend="sim").outputs.values()
    for one in (next(iter(found)), filled.reference(x)[0]):
        np.testing.assert_array_equal(one, np.full(3, fill))
