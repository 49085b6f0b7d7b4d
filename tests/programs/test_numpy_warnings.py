"""Programs warn as NumPy does: in its words, of the kernel's line, and as `np.errstate` says."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

BACKENDS = ["sim", "local", "numpy", "mpi"]


@cy.kernel
def quotients(x, y):
    z = x / y  # quotients
    return cy.sqrt(z)  # roots


@cy.kernel
def elements(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        if x[i] != 0:
            y[i] = 1 / x[i]
    return y


@cy.kernel
def growth(u, steps):
    for _ in range(steps):
        u = u * u  # growth
    return u


@cy.kernel
def compared(x):
    return cy.where(x > 1, x, cy.maximum(x, 2)), cy.max(x)


def line_of(mark: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def warned(program: cy.Program, *inputs: Any, backend: str = "local") -> list[tuple[str, int]]:
    """The texts and lines of the warnings of a run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cy.run(program, *inputs, backend=backend)
    assert all(one.category is RuntimeWarning and one.filename == __file__ for one in caught)
    return [(str(one.message), one.lineno) for one in caught]


@pytest.mark.parametrize("backend", BACKENDS)
def test_warnings_are_those_of_numpy(backend: str) -> None:
    if backend == "mpi":
        pytest.importorskip("cyclotron._mpi", reason="Cyclotron was built without MPI")
    x, y = np.array([1.0, -4.0, 9.0]), np.array([0.0, 1.0, 1.0])
    program = quotients.compile(x, y)
    divided = ("divide by zero encountered in divide", line_of("quotients"))
    rooted = ("invalid value encountered in sqrt", line_of("roots"))
    assert warned(program, x, y, backend=backend) == [divided, rooted]
    assert warned(program, abs(x), y, backend=backend) == [divided]
    assert warned(program, x, y + 1, backend=backend) == [rooted]
    assert warned(program, abs(x), y + 1, backend=backend) == []


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_overflow(dtype: str) -> None:
    program = growth.compile(np.full(40, 3, dtype), 10)
    found = warned(program)
    assert ("overflow encountered in multiply", line_of("growth")) in found
    assert warned(program, np.ones(40, dtype)) == []


def test_of_many_threads() -> None:
    x = np.ones((300, 300))
    x[299, 299] = 0
    program = quotients.compile(np.ones_like(x), x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cy.run(program, backend="local", threads=4)
    assert len(caught) == 1


@pytest.mark.parametrize("backend", ["sim", "local"])
def test_what_is_not_used_gives_none(backend: str) -> None:
    assert warned(elements.compile(np.arange(3.0)), backend=backend) == []


@pytest.mark.parametrize("backend", ["sim", "local"])
def test_nan_that_comes_in_gives_none(backend: str) -> None:
    x = np.array([np.nan, 1.0, -np.inf])
    assert warned(compared.compile(x), backend=backend) == []


def test_errstate() -> None:
    x, y = np.ones(2), np.zeros(2)
    program = quotients.compile(x, y)
    with np.errstate(divide="ignore"):
        assert warned(program) == []
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="in divide") as caught:
        cy.run(program)
    assert caught.traceback[-1].lineno + 1 == line_of("quotients")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            cy.run(program)
    calls: list[str] = []
    with np.errstate(divide="call", call=lambda kind, flag: calls.append(kind)):
        assert warned(program) == []
    assert calls == ["divide by zero"]


def test_once_a_line() -> None:
    """As Python does it by itself for NumPy's."""
    program = quotients.compile(np.ones(2), np.zeros(2))
    shown: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_, **__: shown.append(str(message))
        for _ in range(3):
            cy.run(program)
    assert shown == ["divide by zero encountered in divide"]


@cy.kernel
def with_a_picture(x, seen):
    with cy.ignore():
        seen.append(x)
    return 1 / x


def test_blocks_of_the_reference_do_not_run() -> None:
    seen: list[Any] = []
    program = with_a_picture.compile(np.zeros(2), seen)
    warned(program)
    assert not seen


@cy.kernel
def with_a_print(x):
    y = 1 / x
    cy.debug.print("first {}", y[0])
    return y


def test_what_a_kernel_prints_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(warned(with_a_print.compile(np.zeros(2)))) == 1
    assert capsys.readouterr().out == "first inf\n"


def test_a_body_that_takes_long_is_left() -> None:
    """The program's own time is the most that it may take; the line is not told then."""

    @cy.kernel
    def products(A, B):
        C = cy.zeros_like(A)
        n = A.shape[0]
        for i in range(n):
            for j in range(n):
                C[i, j] = sum(A[j, k] / B[i, k] for k in range(n))
        return C

    A = np.ones((120, 120))
    B = A.copy()
    B[119, 119] = 0
    (text, _), *rest = warned(products.compile(A, B))
    assert text == "divide by zero encountered in `products`, or in values that it does not use"
    assert not rest


def test_in_threads() -> None:
    """One thread ignores what another one warns of."""
    program = quotients.compile(np.ones(2), np.zeros(2))
    found: list[BaseException] = []

    def run() -> None:
        try:
            with np.errstate(divide="raise"):
                cy.run(program)
        except FloatingPointError as error:
            found.append(error)

    with np.errstate(divide="ignore"):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert warned(program) == []
    assert len(found) == 1


def test_a_body_that_fails_tells_no_line() -> None:
    gone: list[int] = []

    def one() -> float:
        if gone:
            raise OSError("what it reads is gone")
        return 1.0

    @cy.kernel
    def quotient(x):
        return one() / x

    program = quotient.compile(np.zeros(2))
    gone.append(1)
    (text, _), *rest = warned(program)
    assert text == "divide by zero encountered in `quotient`, or in values that it does not use"
    assert not rest


def test_of_a_program_from_a_file(tmp_path: Path) -> None:
    """NumPy's line is not known then, and `np.errstate` holds."""
    quotients.compile(np.ones(2), np.ones(2)).save(tmp_path / "quotients.cyc")
    loaded = cy.load(tmp_path / "quotients.cyc")
    arrays = np.ones(2), np.array([0.0, 1.0])
    text = "divide by zero encountered in `quotients`, or in values that it does not use"
    assert [said for said, _ in warned(loaded, *arrays)] == [text]
    assert warned(loaded, np.ones(2), np.ones(2)) == []
    with np.errstate(divide="ignore"):
        assert warned(loaded, *arrays) == []
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        cy.run(loaded, *arrays)


def test_of_distributed_inputs() -> None:
    @cy.kernel
    def exponentials(A):
        B = cy.empty_like(A)
        for i in range(A.shape[0]):
            B[i] = cy.exp(A[i])
        return B

    parts = cy.distribute(np.full(4, 1000.0), cy.Layout((2,), 2), ranks=2)
    program = exponentials.compile(cy.blocked(np.zeros(4), (2,)))
    assert ["overflow" in said for said, _ in warned(program, parts, backend="mpi")] == [True]
