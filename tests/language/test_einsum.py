"""Tensor algebra by `cy.einsum`: the recurrence that it abbreviates."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from oracle import agree, record

import cyclotron as cy


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(float)


def written_out() -> cy.Kernel:
    @cy.kernel
    def product(A, B):
        C = cy.empty((A.shape[0], B.shape[1]))
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
        return C

    return product


def abbreviated() -> cy.Kernel:
    @cy.kernel
    def product(A, B):
        C = cy.einsum("ik,kj->ij", A, B)
        return C

    return product


def implicit() -> cy.Kernel:
    @cy.kernel
    def product(A, B):
        C = np.einsum("ik, kj", A, B)
        return C

    return product


def without_places(program: cy.Program, path) -> object:
    """The program file, less where in the text each part comes from."""
    program.save(path)

    def strip(value: object) -> object:
        if isinstance(value, dict):
            return {key: strip(part) for key, part in value.items() if key != "at"}
        return [strip(part) for part in value] if isinstance(value, list) else value

    content = path.read_bytes()
    return strip(json.loads(content[content.index(b'{"kernel"') :]))


@pytest.mark.parametrize("make", [abbreviated, implicit])
@pytest.mark.parametrize(
    "schedule",
    [
        None,
        cy.Schedule(),
        cy.Schedule().space("i", "j").time("k").stream("A", along="j").stream("B", along="i"),
        cy.Schedule().space("k", "j").time("i"),
    ],
    ids=str,
)
def test_lowers_to_the_identical_program(make: Callable[[], cy.Kernel], schedule, tmp_path) -> None:
    """CY-001 CY-002: the explicit and the implicit sum, every stage of them."""
    A, B = integers(3, 4), integers(4, 5)
    explicit, other = written_out(), make()
    assert str(other.recurrences(A, B)) == str(explicit.recurrences(A, B))
    first, second = explicit.compile(A, B, schedule=schedule), other.compile(A, B, schedule=schedule)
    assert str(first.dataflow) == str(second.dataflow)
    assert [str(c) for c in first.classes] == [str(c) for c in second.classes]
    assert without_places(first, tmp_path / "first") == without_places(second, tmp_path / "second")


EINSUMS = {
    "ik,kj->ij": ((3, 4), (4, 2)),
    "ik,jk": ((3, 4), (2, 4)),
    "i,i->": ((4,), (4,)),
    "i,j->ji": ((4,), (3,)),
    "ij->ji": ((2, 3),),
    "ij->": ((2, 3),),
    "ij->j": ((2, 3),),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "iij,j->i": ((2, 2, 3), (3,)),
    "ij,ij,ij->ij": ((2, 3), (2, 3), (2, 3)),
    "ik,kl,lj->ij": ((2, 3), (3, 4), (4, 2)),
    "bik,bkj->bij": ((2, 2, 3), (2, 3, 2)),
    "ijk,jl,kl->il": ((2, 3, 2), (3, 2), (2, 2)),
    "Zz->zZ": ((2, 3),),
}


def einsum_of(subscripts: str, count: int) -> cy.Kernel:
    """A kernel with its subscripts from outside, as a user of a library writes it."""
    if count == 1:

        @cy.kernel
        def one(A):
            R = cy.einsum(subscripts, A)
            return R

        return one
    if count == 2:

        @cy.kernel
        def two(A, B):
            R = cy.einsum(subscripts, A, B)
            return R

        return two

    @cy.kernel
    def three(A, B, C):
        R = cy.einsum(subscripts, A, B, C)
        return R

    return three


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_every_einsum_is_a_recurrence(subscripts: str) -> None:
    """CY-011: explicit and implicit results, diagonals, traces, scalars, any number of operands."""
    arguments = [integers(*shape) for shape in EINSUMS[subscripts]]
    kernel = einsum_of(subscripts, len(arguments))
    agree(kernel, *arguments)
    expected = np.einsum(subscripts, *arguments)
    for schedule in (None, cy.Schedule()):
        program = kernel.compile(*arguments, schedule=schedule)
        for backend in ("sim", "local"):
            found = cy.run(program, backend=backend).output
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "subscripts", ["ik,kj->ij", "ki,jk->ji", "ik,jk->ij", "ij,ji->ji", "ij->ji", "ij->ij"]
)
def test_tiles(subscripts: str) -> None:
    """Of tiles the product of two elements is a product of matrices, transposed as the subscripts say."""
    arrays = [integers(5, 5) for _ in subscripts.partition("->")[0].split(",")]
    arguments = [cy.blocked(array, (2, 2)) for array in arrays]
    kernel = einsum_of(subscripts, len(arguments))
    expected = np.einsum(subscripts, *arrays)
    np.testing.assert_array_equal(kernel.reference(*arguments), expected)
    for schedule in (None, cy.Schedule()):
        program = kernel.compile(*arguments, schedule=schedule)
        np.testing.assert_array_equal(cy.run(program, backend="sim").output, expected)


def test_results_are_tensors_of_the_kernel() -> None:
    """A result is read in loops and in another einsum."""

    @cy.kernel
    def normal(A, b):
        G = cy.einsum("ki,kj->ij", A, A)
        v = cy.einsum("ki,k->i", A, b)
        R = cy.empty_like(b)
        for i in range(len(v)):
            R[i] = v[i] - G[i, i]
        return R

    agree(normal, integers(3, 3), integers(3))
    assert {tensor.role for tensor in record(normal, integers(3, 3), integers(3)).tensors} == {
        "input",
        "local",
        "output",
    }
    assert "G = il.einsum('ki,kj->ij', A, A, name='G')" in normal.il()


def test_returned_at_once() -> None:
    """A result without a name of its own is called that."""

    @cy.kernel
    def product(A, B):
        return cy.einsum("ik,kj->ij", A, B)

    system = agree(product, integers(2, 3), integers(3, 2))
    assert system.tensors[-1].name == "result"
    assert "result = il.einsum('ik,kj->ij', A, B, name='result')" in product.il()
    assert np.array_equal(product(np.eye(2), np.ones((2, 2))), np.ones((2, 2)))


def test_recipes_read_it() -> None:
    """CY-002: a well-known schedule is the same for both forms."""
    for recipe in (cy.schedules.output_stationary, cy.schedules.weight_stationary):
        assert str(recipe(abbreviated())) == str(recipe(written_out()))


def test_outside_of_kernels_it_is_numpys() -> None:
    A, B = integers(2, 3), integers(3, 2)
    np.testing.assert_array_equal(cy.einsum("ik,kj->ij", A, B), A @ B)


@cy.kernel
def in_loops(u, A):
    """New arrays in each iteration, under the index names of the loops too."""
    for _t in range(3):
        y = cy.einsum("i,j->ij", u, u)
        z = cy.einsum("ij,j->i", A, u)
        A = y - A
        u = z + y[0]
    for i in range(2):
        u[i] += 1
        u += cy.einsum("ij,j->i", A, u)
    return u, A


def test_in_loops():
    u, A = np.arange(1.0, 4), np.arange(9.0).reshape(3, 3) - 4
    wanted = in_loops.__wrapped__(u.copy(), A.copy())
    program = in_loops.compile(u, A)
    for backend in ("sim", "local"):
        for found, expected in zip(cy.run(program, backend=backend).outputs.values(), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
    for found, expected in zip(in_loops.reference(u.copy(), A.copy()), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)
