"""Kernels that kernels call, and what arguments and values of the host may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def smoothed(u, n, *, c=0.5):
    """Changes its argument in place."""
    for t in range(n):
        u[1:-1] = u[1:-1] + c * (u[2:] - u[:-2])
    return u


@cy.kernel
def halves(u):
    return u / 2, {"half": u * 0.5}["half"] - 1


@cy.kernel
def pair(u):
    v = u + 1
    return {"sum": v + u, "v": v}


@cy.kernel(max_steps=20)
def below(u, limit):
    while cy.max(u) > limit:
        u = u * 0.5
    return u


@cy.kernel
def root(a):
    return cy.sqrt(a) * 2


@cy.kernel
def nested_loops(u, n):
    """The loop of what it calls has the name of its own, and what is called changes an input."""
    for t in range(n):
        w = smoothed(u, 2)
        u[...] = w + smoothed(u * 2, t * 0 + 1, c=0.25) if n > 1 else w
    return u


@cy.kernel
def forms(u):
    a, _ = halves(u)
    both = pair(a)
    return below(both["sum"], 1.0) + both["v"], below(u * 8, 2)


@cy.kernel
def of_elements(u):
    y = cy.zeros_like(u)
    for i in range(u.shape[0]):
        y[i] = root(u[i]) + sum(root(u[k]) for k in range(i))
    return y


@cy.kernel
def repeated(u, n):
    """Calls itself, as often as a value of the host says."""
    return u if n == 0 else repeated(u * 2 + 1, n - 1)


@cy.kernel
def filled(u, v, c):
    w = u * 2
    w.fill(c)
    for t in range(2):
        v[t].fill(3)
        v[t, 1:].fill(u[t])
    return w + u, v


def matrix() -> Any:
    return np.arange(6.0).reshape(2, 3)


CASES: list[tuple[cy.Kernel, tuple[Any, ...], dict[str, Any]]] = [
    (smoothed, (np.arange(6.0) ** 2, 2), {"c": 0.25}),
    (nested_loops, (np.arange(6.0) ** 2, 2), {}),
    (nested_loops, (np.arange(1.0), 1), {}),
    (forms, (np.arange(5.0),), {}),
    (forms, (np.arange(1, dtype="float32") + 1,), {}),
    (of_elements, (np.arange(4.0),), {}),
    (repeated, (np.arange(4), 1), {}),
    (repeated, (np.arange(4), 3), {}),
    (filled, (np.arange(2.0), matrix(), 5), {}),
]


@pytest.mark.parametrize(
    ("kernel", "arguments", "named"), CASES, ids=[f"{k.name}-{n}" for n, (k, *_) in enumerate(CASES)]
)
def test_calls(kernel: cy.Kernel, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    program = kernel.compile(*arguments, **named)
    expected = kernel.reference(*arguments, **named)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local", "numpy"):
        outputs = cy.run(program, backend=backend).outputs.values()
        for found, wanted in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
    graph = list(kernel.graph(*arguments, **named).evaluate().values())
    np.testing.assert_array_equal(graph[0], expected[0])


def test_a_kernel_that_is_defined_anew_is_called_anew() -> None:
    names: dict[str, Any] = {"cy": cy}
    outer = _kernel("def outer(u): return inner(u) + 1", names)
    names["inner"] = _kernel("def inner(u): return u * 2", names)
    x = np.arange(3.0)
    np.testing.assert_array_equal(outer(x), x * 2 + 1)
    names["inner"] = _kernel("def inner(u): return u * 3", names)
    np.testing.assert_array_equal(outer(x), x * 3 + 1)


def _kernel(text: str, names: dict[str, Any]) -> cy.Kernel:
    """A kernel of a text, whose globals are these."""
    import linecache

    file = f"<kernel {hash(text)}>"
    linecache.cache[file] = (len(text), None, [text + "\n"], file)
    local: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names, local)
    return cy.kernel(local.popitem()[1])


def test_a_kernel_that_calls_itself_is_known_by_what_it_reads() -> None:
    assert repeated.globals_read() is not None
    np.testing.assert_array_equal(repeated(np.arange(3), 2), 4 * np.arange(3) + 3)


def test_errors_of_the_user_stay_as_they_are() -> None:
    @cy.kernel
    def raises(u):
        raise TypeError("of the user")
        return u

    with pytest.raises(TypeError, match="of the user") as caught:
        raises(np.ones(2))
    assert not isinstance(caught.value, cy.CyclotronError)


@cy.kernel
def scaled(x: np.ndarray, c: float):
    return x * c


@cy.kernel
def squared(x):
    return scaled(x, x)


def test_called_kernels_get_what_they_declare() -> None:
    with pytest.raises(cy.TraceError, match="CYC124"):
        squared.compile(np.ones(3))


@cy.kernel
def changed_in_place(x):
    x[0] += 10
    return x * 1


@cy.kernel
def doubled(x):
    return x * 2


@cy.kernel
def of_a_list(u):
    expressions = [u + 1]
    v = expressions[0]
    p = changed_in_place(v)
    return v, p


@cy.kernel
def of_a_list_by_name(u):
    expressions = {"a": u + 1}
    p = changed_in_place(x=expressions["a"])
    return expressions["a"], p


@pytest.mark.parametrize("kernel", [of_a_list, of_a_list_by_name], ids=lambda one: one.name)
def test_changes_of_expressions_in_lists_are_not_lost(kernel):
    with pytest.raises(cy.TraceError, match="an expression that no name of the caller's holds") as caught:
        kernel(np.ones(3))
    assert caught.value.code == "CYC107"


def test_expressions_in_lists_are_read_and_names_are_changed():
    @cy.kernel
    def several(u):
        expressions = [u + 1]
        v = u * 3
        p = changed_in_place(v)
        return doubled(expressions[0]), v, p, changed_in_place(u * 2), changed_in_place(u), u

    u = np.array([1.0, 2.0])
    for found, expected in zip(several(u.copy()), several.reference(u.copy()), strict=True):
        np.testing.assert_array_equal(found, expected)
