"""Random conditions on indices, with `%` and `//`: the domains are those that Python finds point by point."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import evaluate, record

import cyclotron as cy
from cyclotron import il

ROWS, COLUMNS = 5, 4
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

small = st.integers(-3, 5)
forms = st.tuples(st.integers(-2, 2), st.integers(-2, 2), small)
sides = st.one_of(
    forms.map(lambda form: ("form", form)),
    st.tuples(st.sampled_from(["%", "//"]), forms, st.integers(1, 4)),
)
comparisons = st.tuples(st.sampled_from(sorted(COMPARISONS)), sides, forms)
conditions = st.recursive(
    comparisons,
    lambda parts: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), parts, parts), st.tuples(st.just("not"), parts)
    ),
    max_leaves=4,
)


def form_of(form: tuple[int, int, int], i: Any, j: Any) -> Any:
    return form[0] * i + form[1] * j + form[2]


def holds(condition: Any, i: Any, j: Any) -> Any:
    """The value of a condition for numbers, or the condition of the trace for indices."""
    name, *parts = condition
    if name == "and":
        return il.all_of(*(holds(part, i, j) for part in parts))
    if name == "or":
        return il.any_of(*(holds(part, i, j) for part in parts))
    if name == "not":
        return il.not_(holds(parts[0], i, j))
    (kind, form, *divisor), other = parts
    left = form_of(form, i, j)
    if kind == "%":
        left = left % divisor[0]
    elif kind == "//":
        left = left // divisor[0]
    return COMPARISONS[name](left, form_of(other, i, j))


def recorded(kernel: Any, A: np.ndarray) -> Any:
    """The recording; conditions of too many cases are refused."""
    try:
        return record(kernel, A)
    except cy.TraceError as error:
        assume(error.code != "CYC104")
        raise


@settings(deadline=None, max_examples=20)
@given(conditions)
def test_domains(condition: Any) -> None:
    @il.program
    def marked(A):
        X = il.zeros((ROWS, COLUMNS), name="X")
        with il.loop("i", ROWS) as i, il.loop("j", COLUMNS) as j:
            with il.where(holds(condition, i, j)):
                X[i, j] = A[i, j]
            with il.otherwise():
                X[i, j] = -A[i, j]
        return il.outputs(X=X)

    A = np.arange(1.0, 1 + ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    signs = [[1 if holds(condition, i, j) else -1 for j in range(COLUMNS)] for i in range(ROWS)]
    found = evaluate(recorded(marked, A), {"A": A})["X"]
    np.testing.assert_array_equal(found, A * np.array(signs))


@settings(deadline=None, max_examples=20)
@given(conditions, st.integers(-3, 3).filter(bool))
def test_filtered_sums(condition: Any, step: int) -> None:
    @il.program
    def filtered(A):
        X = il.empty((ROWS,), name="X")
        bounds = (0, COLUMNS) if step > 0 else (COLUMNS - 1, -1)
        with il.loop("i", ROWS) as i:
            X[i] = il.sum("j", *bounds, lambda j: A[i, j], where=lambda j: holds(condition, i, j), step=step)
        return il.outputs(X=X)

    A = np.arange(1.0, 1 + ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    columns = range(0, COLUMNS, step) if step > 0 else range(COLUMNS - 1, -1, step)
    sums = [sum(A[i, j] for j in columns if holds(condition, i, j)) for i in range(ROWS)]
    found = evaluate(recorded(filtered, A), {"A": A})["X"]
    np.testing.assert_array_equal(found, sums)
    program = filtered.compile(A, schedule=cy.Schedule())
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, sums)
