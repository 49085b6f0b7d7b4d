"""Types that kernels declare, kernels that are methods, and code that the host runs while tracing."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cyclotron as cy


@cy.kernel
def declared(x: NDArray[np.float64], scale: float | None = 2, steps: int = 1):
    total: float = cy.sum(x)
    y: np.ndarray = x / total
    for t in range(steps):
        y = y * (1.0 if scale is None else scale)
    total = cy.max(y)
    return y, total


@cy.kernel
def partly_known(x: OnlyForCheckers):
    y: OnlyForCheckers = x + 1
    n: list[int] = [1, 2]
    z = y * len(n)
    return z


class Heat:
    """A solver with a coefficient and a weight of its own, and kernels as methods."""

    def __init__(self, c: float) -> None:
        self.c = c
        self.steps = 2

    @cy.kernel
    def step(self, u: np.ndarray):
        for t in range(self.steps):
            u[1:-1] += self.c * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    @cy.kernel(max_steps=9)
    def until(self, u, limit: float):
        while cy.max(u) > limit:
            u = self.c * u
        return u

    @cy.kernel
    def keep(self, u):
        self.c = 0.0
        v = u * self.c
        return v


@pytest.mark.parametrize("scale", [3, 0.5, None, True])
def test_values_of_the_declared_types_pass(scale: Any) -> None:
    x = np.arange(1.0, 5.0)
    for found, right in zip(declared(x, scale, 2), declared.reference(x, scale, 2), strict=True):
        np.testing.assert_array_equal(found, right)
    declared.compile(cy.spec((4,)))
    for kept in ("il.typed(total, float, name='total')", "il.typed(y, np.ndarray, name='y')"):
        assert kept in declared.il()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((np.ones(4, "float32"),), "float32"),
        ((np.ones(4), "fast"), "'fast'"),
        ((np.ones(4), 1j), "1j"),
        ((np.ones(4), np.ones(2)), r"an array of shape \(2,\)"),
        ((np.ones(4), 2, 1.5), "1.5"),
        ((3.0,), "`3.0`"),
        ((cy.spec((4,), "int64"),), "int64"),
        ((cy.blocked(np.ones(4, "int32"), (2,)),), "int32"),
    ],
)
def test_other_values_are_refused_before_anything_runs(arguments: tuple[Any, ...], what: str) -> None:
    for run in (declared, declared.reference, declared.compile, declared.graph):
        with pytest.raises(cy.TraceError, match=rf"{what}.*CYC124"):
            run(*arguments)


def test_types_that_are_not_known_are_not_checked() -> None:
    np.testing.assert_array_equal(partly_known(np.ones(3)), [4, 4, 4])


def test_methods_read_the_attributes_of_their_object() -> None:
    heat = Heat(0.25)
    u = np.arange(6.0) ** 2
    first = heat.step(u)
    np.testing.assert_array_equal(first, heat.step.reference(u))
    np.testing.assert_array_equal(heat.step.graph(u).evaluate()["u"], first)
    heat.c, heat.steps = 0.5, 3
    second = heat.step(u)
    np.testing.assert_array_equal(second, heat.step.reference(u))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(Heat(0.25).step(u), first)
    np.testing.assert_array_equal(heat.until(u, 2.0), heat.until.reference(u, 2.0))
    assert str(heat.step.signature) == "(u: 'np.ndarray')"
    with pytest.raises(cy.TraceError, match="CYC124"):
        heat.step(3)


def test_programs_of_methods_keep_what_they_were_compiled_with() -> None:
    heat = Heat(0.25)
    u = np.arange(6.0) ** 2
    program = heat.step.compile(u)
    first = heat.step.reference(u)
    heat.c = 0.5
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, first)
    with pytest.raises(cy.ExecutionError, match=r"CYC714(.|\n)*compile the kernel again if .*attributes"):
        cy.check(program, backends=("sim",))
    heat.c = 0.25
    cy.check(program, backends=("sim",))


def test_kernels_do_not_assign_attributes() -> None:
    with pytest.raises(cy.TraceError, match=r"`self.c` is assigned.*CYC101"):
        Heat(0.25).keep(np.ones(3))


def test_the_host_may_draw_before_the_loops() -> None:
    @cy.kernel
    def noisy(x):
        with cy.host():
            weight = float(np.random.default_rng(7).random())
            for _ in range(3):
                weight = weight / 2
        for t in range(2):
            with cy.host():
                doubled = 0
                doubled += 2 * weight
            x = x + doubled
        return x

    x = np.arange(3.0)
    np.testing.assert_array_equal(noisy(x), noisy.reference(x))


class OfTypes(type):
    """A class of classes without a hash."""

    def __eq__(cls, other: object) -> bool:
        raise NotImplementedError


ANYTHING = [
    OfTypes("Odd", (), {}),
    NDArray[Any],
    np.ndarray[Any, Any],
    np.ndarray[Any, np.dtype[Any]],
    NDArray[np.floating[Any]],
    "NDArray[np.floating[Any]]",
    Annotated[NDArray[np.float64], [4, 5]],
    "array of points",
    "NDArray[missing]",
    [float],
    {"doc": 1},
    ("docs", int),
    list[int],
    3,
]


@pytest.mark.parametrize("annotation", ANYTHING, ids=str)
def test_what_is_not_a_type_or_says_nothing_of_the_dtype_is_accepted(annotation: Any) -> None:
    def doubled(A):
        B: annotation = A * 2
        return B

    doubled.__annotations__["A"] = annotation
    kernel = cy.kernel(doubled)
    A = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(kernel(A), kernel.reference(A))


@cy.kernel
def not_evaluated(A):
    x: int | Missing = 3
    y: float[3] = 2.0
    z: np.Nothing = A * x
    w: print("evaluated") = z * y
    return w


def test_annotations_of_names_are_not_evaluated_as_code(capsys: pytest.CaptureFixture[str]) -> None:
    np.testing.assert_array_equal(not_evaluated(np.arange(3.0)), np.arange(3.0) * 6)
    assert not capsys.readouterr().out


def test_indices_are_integers_and_conditions_on_them_truth_values() -> None:
    @cy.kernel
    def counted(A):
        X = cy.zeros_like(A)
        for i in range(A.shape[0]):
            k: int = i
            low: int = max(0, i - 1)
            first: bool = i == 0
            odd: int = i % 2
            one: np.float64 = 1
            count: int = sum(1 for _ in range(i))
            for j in range(low, A.shape[1]):
                back: int
                back = 4 - j
                X[i, j] = (A[k, back] if first else -A[k, back]) * one if odd == 0 else A[i, j] + count
        return X

    A = np.random.default_rng(0).standard_normal((4, 5))
    np.testing.assert_array_equal(counted(A), counted.reference(A))


def test_an_index_is_neither_text_nor_an_array() -> None:
    @cy.kernel
    def wrong(A):
        X = cy.empty_like(A)
        for i in range(3):
            k: np.ndarray = i + 1
            X[i] = A[k]
        return X

    with pytest.raises(
        cy.TraceError, match=r"`k` is declared as `np.ndarray` and gets index `i \+ 1`.*CYC124"
    ):
        wrong(np.ones(4))


@cy.kernel
def scaled(A, n: np.float64, k: np.integer = 3, c: int = 1):
    w: np.int32 = 3
    h: int = np.uint8(2)
    big: int = 2**70
    return A * n * k * w * h * (big > 0) * c


def test_numbers_of_python_are_of_any_type_that_is_wide_enough() -> None:
    A = np.arange(3.0)
    for n, c in ((2, 1), (2.0, True), (np.float32(2), np.uint8(1))):
        np.testing.assert_array_equal(scaled(A, n, c=c), A * 36)
    for wrong in ({"n": 1j}, {"n": 1, "k": 1.5}, {"n": 1, "c": 0.5}, {"n": None}, {"n": "2"}):
        with pytest.raises(cy.TraceError, match="CYC124"):
            scaled(A, **wrong)


def test_names_that_are_assigned_in_part_are_checked_where_they_are() -> None:
    @cy.kernel
    def partly(A):
        seen: float
        flag: int
        with cy.ignore():
            seen = 3.0
            print(seen)
        with cy.host():
            if A.shape[0] > 100:
                flag = 3
                print(flag)

            def inner(value):
                flag = value
                return flag

            scale = inner(2)
        B = A * scale
        return B

    @cy.kernel
    def wrong(A):
        flag: int
        with cy.host():
            if A.shape[0] < 100:
                flag = "no"
                print(flag)
        return A * 2

    np.testing.assert_array_equal(partly(np.ones(3)), [2, 2, 2])
    with pytest.raises(cy.TraceError, match=r"`flag` is declared as `int` and gets `'no'`.*CYC124"):
        wrong(np.ones(3))


def test_names_of_inner_scopes_are_not_those_around() -> None:
    @cy.kernel
    def shadowed(x):
        k, c = 0, 5.0
        for t in range(3):
            with cy.host():
                k = [k * 2 for k in range(3)][-1]
                k = max(dict.fromkeys(range(k), 1)) + k
                k = (lambda k, m=k: k + m)(3)

                def g(k):
                    c = k + 1
                    return c

                k = g(4)
            x = x + k
        return x * c

    x = np.arange(3.0)
    np.testing.assert_array_equal(shadowed(x), shadowed.reference(x))


@pytest.mark.parametrize(
    "code",
    [
        "k = [j for j in range(k)][-1]",
        "k = [k + j for j in range(3)][-1]",
        "k = (lambda j: k + j)(3)",
        "k = (lambda j=k: j)()",
        "k: int = k + 1",
        "(k := k + 1)",
    ],
)
def test_what_inner_scopes_read_of_those_around_is_carried(code: str, tmp_path: Any) -> None:
    lines = ["def f(x):", "    k = 3", "    for t in range(3):", "        with cy.host():"]
    text = "\n".join([*lines, f"            {code}", "        x = x + k", "    return x", ""])
    path = tmp_path / "carried.py"
    path.write_text(text)
    names: dict[str, Any] = {"cy": cy}
    exec(compile(text, str(path), "exec"), names)
    with pytest.raises(cy.TraceError, match=r"`k` carries its value.*CYC111"):
        cy.kernel(names["f"])(np.ones(3))


def test_generators_of_a_seed_may_be_drawn_from_before_the_loops() -> None:
    @cy.kernel
    def noisy(x):
        own: np.random.Generator = np.random.default_rng(1)
        other = np.random.Generator(np.random.PCG64(3))
        w = float(own.standard_normal()) + own.random() + other.random()
        return x * w

    x = np.arange(3.0)
    for _ in range(2):
        np.testing.assert_array_equal(noisy(x), noisy.reference(x))

    @cy.kernel
    def unseeded(x):
        own = np.random.Generator(np.random.PCG64())
        return x * own.random()

    @cy.kernel
    def in_a_loop(x):
        own: np.random.Generator = np.random.default_rng(1)
        for t in range(3):
            x = x * own.random()
        return x

    for kernel in (unseeded, in_a_loop):
        with pytest.raises(cy.TraceError, match=r"gives another value at each call.*CYC105"):
            kernel(x)
