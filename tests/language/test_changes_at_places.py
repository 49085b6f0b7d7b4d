"""`np.add.at` and its like: elements at places that data tell change one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy

PLACES = np.array([0, 2, 2, 1, 0, -1])
VALUES = np.arange(1.0, 7)


@cy.kernel
def added(y, n, v):
    np.add.at(y, n, v)
    return y


@cy.kernel
def all_of_them(y, n, v):
    y = y + 1
    np.add.at(y, n % 3, 1)
    np.subtract.at(y, n, v * 2)
    np.multiply.at(y, n, v)
    np.maximum.at(y, n, 3)
    np.minimum.at(y, n, v)
    return y


@cy.kernel
def other_places(y, n, v):
    np.add.at(y, [0, 0, 1], v[:3])
    np.add.at(y, 2, v[0])
    np.add.at(y, n[0], v[1])
    np.add.at(y, slice(1, 3), v[2])
    np.add.at(y, range(3), 1)
    return y


@cy.kernel
def in_loops(y, n, v):
    s, c = y[3] * 0, 0
    for t in range(4):
        np.add.at(y, n, v * t)
        if y[0] > 8:
            break
        s += y[2]
    while y[0] < 90:
        np.add.at(y, n, y[n] + 1)
        c += 1
    for t in range(3):
        if v[t] > 1:
            np.add.at(y, n, t)
    return y, s, c


@cy.kernel
def views_and_itself(y, n, v):
    z = y
    w = y[1:]
    np.add.at(w, n % 3, v)
    np.add.at(y, n, y[n])
    np.add.at(y, [0, 1], y[1:3])
    return z * 2, y


@pytest.mark.parametrize("kernel", [added, all_of_them, other_places, in_loops, views_and_itself])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("schedule", [None, cy.Schedule()], ids=["default", "one PE"])
def test_as_numpy(kernel: cy.Kernel, dtype: str, schedule: cy.Schedule | None) -> None:
    y = np.zeros(4, dtype)
    v = VALUES.astype(dtype) if kernel is in_loops else VALUES  # whose sums come in the text's order
    _compare(kernel, y, PLACES, v, schedule=schedule)


@cy.kernel
def rows(A, n, v):
    np.add.at(A, n, v)
    return A


@cy.kernel
def pairs(A, n, v):
    np.add.at(A, (n, n % 3), v)
    np.add.at(A, (n, 0), v)
    np.add.at(A, (1, n % 3), v)
    np.add.at(A, (slice(1, 3), n % 3), 1)
    return A


@pytest.mark.parametrize("kernel", [rows, pairs])
def test_of_matrices(kernel: cy.Kernel) -> None:
    values = (
        (np.arange(18.0).reshape(6, 3), np.ones(3), np.ones((6, 1)), 2.5) if kernel is rows else (VALUES,)
    )
    for v in values:
        _compare(kernel, np.zeros((4, 3)), PLACES, v)


def _compare(kernel: cy.Kernel, *arguments: Any, schedule: cy.Schedule | None = None) -> None:
    wanted = kernel.__wrapped__(*map(np.copy, arguments))
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    program = kernel.compile(*arguments, schedule=schedule)
    for backend in ("sim", "local"):
        for found, right in zip(cy.run(program, backend=backend).outputs.values(), wanted, strict=True):
            np.testing.assert_array_equal(found, right)
            assert np.asarray(found).dtype == np.asarray(right).dtype
    np.testing.assert_array_equal(
        kernel.reference(*map(np.copy, arguments))[0], wanted[0] if len(wanted) > 1 else wanted[0][0]
    )


def test_a_histogram_costs_a_few_cycles_an_element() -> None:
    @cy.kernel
    def histogram(x):
        counts = np.zeros(16, dtype=int)
        np.add.at(counts, x, 1)
        return counts

    x = np.random.default_rng(0).integers(0, 16, 400)
    result = cy.run(histogram.compile(x), backend="sim")
    np.testing.assert_array_equal(result.output, np.bincount(x, minlength=16))
    assert result.cycles < 4 * len(x)


@pytest.mark.parametrize(
    ("places", "code", "what"),
    [
        ("y >= 0", "CYC122", "no vector of integers"),
        ("n[None]", "CYC122", "no vector of integers"),
        ("v", "CYC120", "have dtype float64"),
        ("n + 7", "CYC701", "outside of an axis of 4"),
    ],
)
def test_other_places_are_refused(tmp_path, places: str, code: str, what: str) -> None:
    file = tmp_path / "kernel_at.py"
    file.write_text(
        "import numpy as np, cyclotron as cy\n@cy.kernel\ndef kernel(y, n, v):\n"
        f"    np.add.at(y, {places}, v)\n    return y\n"
    )
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), names)
    with pytest.raises(cy.CyclotronError, match=what) as error:
        cy.run(names["kernel"].compile(np.zeros(4), PLACES, VALUES))
    assert error.value.code == code


def test_values_that_nothing_holds_are_refused() -> None:
    @cy.kernel
    def kernel(y, n, v):
        np.add.at(y * 2, n, v)
        return y

    with pytest.raises(cy.ShapeError, match="no array of the kernel"):
        kernel.compile(np.zeros(4), PLACES, VALUES)
