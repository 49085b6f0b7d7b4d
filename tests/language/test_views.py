"""Functions that give views, and those that give copies: as in NumPy when one of the two changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

Taken = Callable[[Any], Any]
VECTORS: dict[str, tuple[Taken, Taken]] = {
    "cy.real": (cy.real, np.real),
    "cy.imag": (cy.imag, np.imag),
    "cy.conj": (cy.conj, np.conj),
    ".real": (lambda u: u.real, lambda u: u.real),
    ".imag": (lambda u: u.imag, lambda u: u.imag),
    ".conj()": (lambda u: u.conj(), lambda u: u.conj()),
    ".conjugate()[::-1]": (lambda u: u.conjugate()[::-1], lambda u: u.conjugate()[::-1]),
    ".T.real[::2]": (lambda u: u.T.real[::2], lambda u: u.T.real[::2]),
    "cy.clip": (lambda u: cy.clip(u, None, None), lambda u: u.copy()),
    "cy.flip": (cy.flip, np.flip),
    "cy.roll": (lambda u: cy.roll(u, 0), lambda u: np.roll(u, 0)),
    "+u": (lambda u: +u, lambda u: +u),
}
MATRICES: dict[str, tuple[Taken, Taken]] = {
    "cy.diagonal": (cy.diagonal, np.diagonal),
    ".T.diagonal(1)[::-1]": (lambda u: u.T.diagonal(1)[::-1], lambda u: u.T.diagonal(1)[::-1]),
    "ij->ji": (lambda u: cy.einsum("ij->ji", u), lambda u: u.T),
    "ii->i": (lambda u: cy.einsum("ii->i", u), lambda u: np.einsum("ii->i", u)),
    "ii->i, part": (lambda u: cy.einsum("ii->i", u)[1:], lambda u: np.einsum("ii->i", u)[1:]),
    "cy.tril": (cy.tril, np.tril),
    "cy.swapaxes": (lambda u: cy.swapaxes(u, 0, 1), lambda u: np.swapaxes(u, 0, 1)),
}
CASES = [
    *((one, np.arange(1.0, 5.0)) for one in VECTORS.values()),
    *((one, np.arange(1, 5, dtype="int32")) for one in VECTORS.values()),
    *((one, np.arange(1.0, 5.0) * (1 - 2j)) for one in VECTORS.values()),
    *((one, np.arange(1.0, 10.0).reshape(3, 3)) for one in MATRICES.values()),
    *((one, np.arange(1.0, 10.0).reshape(3, 3) * (1 - 2j)) for one in MATRICES.values()),
]
NAMES = [f"{name} {dtype}" for dtype in ("float64", "int32", "complex128") for name in VECTORS] + [
    f"{name} {dtype}" for dtype in ("float64", "complex128") for name in MATRICES
]


def changed_array(take: Taken) -> Callable[..., Any]:
    def kernel(u):
        v = take(u)
        u[1, ...] = 77
        w = v + 1
        return u, w

    return kernel


def changed_view(take: Taken) -> Callable[..., Any]:
    def kernel(u):
        v = take(u)
        v[1:] = 77
        v[0] += 5
        w = v + 1
        return u * 1, w

    return kernel


def check(make: Callable[[Taken], Callable[..., Any]], takes: tuple[Taken, Taken], u: np.ndarray) -> None:
    """Compare values and dtypes of all backends and of the reference with plain NumPy's."""
    try:
        wanted = make(takes[1])(u.copy())
    except ValueError:  # NumPy's view is read-only
        wanted = None
    kernel = cy.kernel(make(takes[0]))
    if wanted is None:
        with pytest.raises((cy.TraceError, ValueError)):
            kernel.compile(u)
        return
    program = kernel.compile(u)
    results = [tuple(cy.run(program, backend=one).outputs.values()) for one in ("sim", "local")]
    for found in (kernel.reference(u.copy()), *results):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.asarray(one).dtype == other.dtype


@pytest.mark.parametrize(("takes", "u"), CASES, ids=NAMES)
def test_the_array_changes(takes: tuple[Taken, Taken], u: np.ndarray) -> None:
    check(changed_array, takes, u)


WRITABLE = [
    (name, case)
    for name, case in zip(NAMES, CASES, strict=True)
    if "imag" not in name and not ("real" in name and "complex" in name)
]


@pytest.mark.parametrize(("takes", "u"), [case for _, case in WRITABLE], ids=[name for name, _ in WRITABLE])
def test_the_view_changes(takes: tuple[Taken, Taken], u: np.ndarray) -> None:
    check(changed_view, takes, u)


@pytest.mark.parametrize("name", [".real", "cy.imag"])
def test_parts_of_complex_arrays_are_read(name: str) -> None:
    """No operator writes one part alone, so NumPy's assignment is refused."""
    kernel = cy.kernel(changed_view(VECTORS[name][0]))
    with pytest.raises(cy.TraceError, match="of a complex array, `u`, is assigned") as error:
        kernel.compile(np.ones(3) * 1j)
    assert error.value.code == "CYC107"


@cy.kernel
def reshaped_and_read(u):
    v = u.reshape(-1)[2:]
    u[0, 0] = 9
    return v


@cy.kernel
def reshaped_and_written(u):
    v = cy.ravel(u)
    v[0] = 9
    return u, v


@cy.kernel
def stretched_and_read(u):
    v = cy.broadcast_to(u, (2, 3, 4))
    u[0, 0] = 9
    return v


@pytest.mark.parametrize(
    "kernel", [reshaped_and_read, reshaped_and_written, stretched_and_read], ids=lambda kernel: kernel.name
)
def test_views_that_kernels_copy_are_refused_once_they_would_differ(kernel: cy.Kernel) -> None:
    with pytest.raises(
        cy.TraceError, match="`v`, which is a view in NumPy, may hold the array that `u` is"
    ) as error:
        kernel.compile(np.ones((3, 4)))
    assert error.value.code == "CYC111"


def test_views_that_nothing_changes_and_copies_of_such() -> None:
    @cy.kernel
    def kernel(u):
        v = u.reshape(2, 6)
        w = cy.tile(u.ravel(), 1)
        w[0] = 7
        u = u + 1
        return u, v.T + 1, w, cy.tile(u, (1, 1)), cy.tile(u, (0, 2))

    u = np.arange(12.0).reshape(3, 4)
    w = u.reshape(-1).copy()
    w[0] = 7
    expected = (u + 1, u.reshape(2, 6).T + 1, w, u + 1, np.tile(u, (0, 2)))
    for found, wanted in zip(kernel(u), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


WITHOUT_AXES: dict[str, Taken] = {
    "u[1, ...]": lambda u: u[1, ...],
    "u[..., 1]": lambda u: u[..., 1],
    "squeeze": lambda u: cy.squeeze(u[1:2]),
}


@pytest.mark.parametrize("name", WITHOUT_AXES)
def test_without_axes_as_numpy(name):
    """An ellipsis makes an array, of no axes too."""
    take, u = WITHOUT_AXES[name], np.arange(1.0, 5.0)

    @cy.kernel
    def changes_array(u):
        x = take(u)
        u[1] = 77
        return x + 0, u

    @cy.kernel
    def changes_view(u):
        x = take(u)
        x += 5
        x[...] = x * 2
        return x + 0, u

    x, changed = changes_array(u)
    assert x == 77
    np.testing.assert_array_equal(changed, [1, 77, 3, 4])
    x, changed = changes_view(u)
    assert x == 14
    np.testing.assert_array_equal(changed, [1, 14, 3, 4])


def test_reshaped_without_axes_is_refused_where_it_changes():
    @cy.kernel
    def kernel(u):
        x = u[:1].reshape(())
        x += 5
        return x + 0, u

    with pytest.raises(cy.TraceError, match="CYC111"):
        kernel(np.arange(3.0))


def test_a_list_of_numbers_that_do_not_fit_is_refused():
    @cy.kernel
    def kernel(u):
        u[:] = [1, 400]
        return u

    with pytest.raises(cy.ShapeError, match="the constant 400 does not fit arrays of dtype int8"):
        kernel(np.array([1, 2], dtype="int8"))


@pytest.mark.parametrize("take", [cy.flip, lambda u: cy.swapaxes(u[None], 0, 1), lambda u: u[::-1]])
def test_a_view_of_a_chosen_array_is_refused_where_it_changes(take):
    @cy.kernel
    def kernel(u, v):
        y = take(u * 1 if u[0] > 1 else v)
        y += 1
        return v

    with pytest.raises(cy.TraceError, match="CYC111"):
        kernel(np.arange(3.0), np.arange(3.0))


def test_terms_that_data_leave_out_keep_a_negative_zero():
    @cy.kernel
    def kernel(v):
        y = v[0]
        for k in range(2):
            if v[k]:
                y += k
        return y

    for dtype in ("float32", "float64"):
        assert np.signbit(kernel(np.array([-0.0, 0.0], dtype)))
    assert kernel(np.array([-0.0, 2.0])) == 1


def written_diagonals(u, v):
    y = cy.diagonal(u) if v[0, 0] > 1 else cy.diagonal(v)
    y[1:] = 2
    return y


def written_rows(u, v):
    n = v.astype("int64")
    if v[0, 0] > 1:
        y = u[n[0, 0]]
    else:
        y = u[n[1, 1]]
    y *= 2
    return y


@pytest.mark.parametrize("function", [written_diagonals, written_rows])
def test_what_data_choose_of_views_that_cannot_be_written_cannot_either(function):
    with pytest.raises(cy.TraceError, match=r"is assigned.*CYC107"):
        cy.kernel(function).compile(np.ones((2, 2)), np.ones((2, 2)))
