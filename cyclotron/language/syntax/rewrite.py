"""From a kernel's syntax tree to the intermediate language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cyclotron.language.syntax.assignments import annotated, assign, augmented, type_checks
from cyclotron.language.syntax.branches import condition
from cyclotron.language.syntax.factories import strip_signature
from cyclotron.language.syntax.host import expression_statement, headline, host_statement, with_block
from cyclotron.language.syntax.loop_extremes import Taken
from cyclotron.language.syntax.loops import break_loop, for_loop, taken, while_loop
from cyclotron.language.syntax.packages import check_packages
from cyclotron.language.syntax.returns import return_results
from cyclotron.language.syntax.rewrite_state import RewriteState
from cyclotron.language.syntax.source import Source
from cyclotron.language.values.refusals import HOST_HELP, STATEMENTS


@dataclass(frozen=True)
class Rewritten:
    """A kernel in the intermediate language.

    Attributes
    ----------
    node : ast.FunctionDef
        The function, with the positions of the user's text.
    il : str
        The name under which the module `il` is used in it.
    form : {"single", "tuple", "dict"}
        How the results are returned.
    results : tuple of str
        The names they are returned under.
    """

    node: ast.FunctionDef
    il: str
    form: str
    results: tuple[str, ...]


def rewrite(source: Source, max_steps: int, numbers: frozenset[str] = frozenset()) -> Rewritten:
    """Rewrite a kernel into the intermediate language.

    Parameters
    ----------
    source : Source
        The kernel.
    max_steps : int
        The most iterations of a `while`.
    numbers : frozenset of str
        Parameters that hold numbers, where the text may add arrays to them.

    Returns
    -------
    Rewritten
        Independent of shapes and of argument values.

    Raises
    ------
    TraceError
        If a statement or expression is no recurrence.
    """
    node = source.node
    extra = node.args.vararg or node.args.kwarg
    if extra is not None:
        raise source.error(
            extra, "CYC116", f"`{extra.arg}` takes any number of arguments", "name each tensor as a parameter"
        )
    check_packages(source)
    state = RewriteState(source, max_steps, _statement, numbers)
    body = state.block(node.body)
    if state.form is None:
        raise source.error(
            node.body[-1],
            "CYC114",
            f"`{node.name}` returns nothing",
            "end it with `return X`, where X is a tensor that it computes",
        )
    return Rewritten(strip_signature(node, body), state.il, state.form, state.results)


_KINDS: Mapping[type[ast.stmt], Callable[[RewriteState, Any], list[ast.stmt]]] = {
    ast.For: for_loop,
    ast.While: while_loop,
    ast.Break: break_loop,
    ast.If: condition,
    ast.With: with_block,
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.Return: return_results,
    ast.Expr: expression_statement,
    ast.Assert: host_statement,
    ast.Raise: host_statement,
    ast.Import: host_statement,
    ast.ImportFrom: host_statement,
    ast.Pass: lambda _, node: [node],
    Taken: taken,
}


def _statement(state: RewriteState, node: ast.stmt) -> list[ast.stmt]:
    """Rewrite one statement, with the checks of declared types behind it."""
    rewritten = _KINDS.get(type(node))
    if rewritten is not None:
        return [*rewritten(state, node), *type_checks(state, node)]
    message, help = STATEMENTS.get(
        type(node), (f"`{type(node).__name__.lower()}` is no recurrence", HOST_HELP)
    )
    raise state.source.error(headline(node), "CYC101", message, help)
