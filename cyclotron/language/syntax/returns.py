"""The `return` of a kernel: one tensor, several or a dict of them, by name."""

from __future__ import annotations

import ast

from cyclotron.language.syntax.assignments import assign
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.source import Source
from cyclotron.language.syntax.trees import call, copied, located, name, words

_NAMED = (ast.Name, ast.Tuple, ast.List, ast.Dict)  # what is returned as it is


def return_results(state: RewriteState, node: ast.Return) -> list[ast.stmt]:
    """Rewrite a `return`, and note its form and the names of the results."""
    if state.indices or state.branches:
        raise state.source.error(
            node,
            "CYC101",
            "`return` inside a loop or condition is no recurrence",
            "return the results at the end of the kernel",
        )
    value = node.value
    before: list[ast.stmt] = []
    if isinstance(value, ast.Tuple) and any(isinstance(elt, ast.Starred) for elt in value.elts):
        raise state.source.error(
            node, "CYC114", "results are unpacked in a `return`", "name each of them, e.g. `return y, z`"
        )
    if isinstance(value, ast.Tuple):
        value = copied(value)
        seen: set[str] = set()
        for number, item in enumerate(value.elts, 1):
            again = isinstance(item, ast.Name) and item.id in seen
            value.elts[number - 1] = one = _named(state, item, f"result_{number}", before, again=again)
            seen.add(one.id if isinstance(one, ast.Name) else "")
    elif value is not None:
        value = _named(state, value, "result", before)
    form, pairs = _returned(state.source, node, value)
    if state.form not in (None, form):
        raise state.source.error(
            node, "CYC114", "the kernel returns in two different forms", "return the same form everywhere"
        )
    state.form = form
    state.results = tuple(key for key, _ in pairs)
    results = words(**{key: state.rewrite(item) for key, item in pairs})
    return [*before, ast.Return(value=call(state.il, "outputs", [], results))]


def _named(
    state: RewriteState, value: ast.expr, named: str, before: list[ast.stmt], *, again: bool = False
) -> ast.expr:
    """A result by a name: expressions, and what is returned `again`, are assigned to one before."""
    if isinstance(value, _NAMED) and not again:
        return value
    plain = ast.Assign(targets=[name(named, store=True)], value=value)
    before += assign(state, located(plain, value))
    return ast.copy_location(name(named), value)


def _returned(
    source: Source, node: ast.Return, value: ast.expr | None
) -> tuple[str, list[tuple[str, ast.expr]]]:
    """The form in which a statement returns its results, and the results by name.

    Raises
    ------
    TraceError
        CYC114 if they have no names, or two have one.
    """
    pairs: list[tuple[str, ast.expr]] = []
    form = "single"
    if isinstance(value, ast.Name):
        pairs = [(value.id, value)]
    elif isinstance(value, (ast.Tuple, ast.List)):
        form = "tuple"
        pairs = [(item.id, item) for item in value.elts if isinstance(item, ast.Name)]
        pairs = pairs if len(pairs) == len(value.elts) else []
    elif isinstance(value, ast.Dict):
        form = "dict"
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier():
                pairs.append((key.value, item))
        pairs = pairs if len(pairs) == len(value.values) else []
    if len({key for key, _ in pairs}) != len(pairs) or not pairs:
        raise source.error(
            value or node,
            "CYC114",
            f"`{source.text_of(node)}` does not return distinct tensors by name",
            'write `return X`, `return X, Y` or `return {"X": X}`; of numbers `return cy.array([s, t])`',
        )
    return form, pairs
