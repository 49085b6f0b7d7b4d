"""Code of the host whose value is another one at each run: a kernel is recorded once, and its loops too."""

from __future__ import annotations

import ast
import builtins
import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cyclotron.language.syntax.source import Source
from cyclotron.language.syntax.trees import walk
from cyclotron.language.values.host_state import GENERATORS
from cyclotron.support.errors import TraceError

_MAKERS = (np.random.default_rng, *GENERATORS)
_OTHERS = (time.time, time.time_ns, time.perf_counter, time.monotonic, time.process_time, builtins.input)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def impure_calls(source: Source, node: ast.AST) -> Iterator[ast.Call]:
    """The calls in a part of a kernel that draw random numbers, read a clock or ask the user."""
    for part in walk(node):
        if isinstance(part, ast.Call) and is_impure(source, part.func):
            yield part


def impure_error(source: Source, node: ast.Call, where: str) -> TraceError:
    """The error for such a call, which stands `where` it runs once."""
    of_clock = any(source.meaning(node.func) is one for one in _OTHERS)
    return source.error(
        node,
        "CYC105",
        f"`{source.text_of(node)}` gives another value at each call, and {where}",
        "make the values before and pass them to the kernel, as an array for a loop: `for r in numbers:`"
        + ("" if of_clock else "; or draw them in it, `cy.random.uniform(cy.random.key(seed), shape)`"),
    )


def read_before_assigned(body: Sequence[ast.stmt]) -> Iterator[ast.Name]:
    """The names that statements read where they have not assigned them."""
    assigned: set[str] = set()
    for part in _all_in_order(body):
        if isinstance(part.ctx, ast.Load) and part.id not in assigned:
            yield part
        elif isinstance(part.ctx, ast.Store):
            assigned.add(part.id)


def is_impure(source: Source, function: ast.expr, *, in_loop: bool = True) -> bool:
    """Return whether a function draws random numbers, reads a clock or asks the user.

    A generator that the kernel makes of a seed draws the same numbers each time that the kernel is recorded:
    they are other ones only in a loop.
    """
    found = source.meaning(function)
    if isinstance(getattr(found, "__self__", None), GENERATORS) or any(found is one for one in _OTHERS):
        return True
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value
    if isinstance(owner, ast.Name):
        return isinstance(source.meaning(owner), GENERATORS) or owner.id in _generators(source, in_loop)
    return _makes_generator(source, owner, seeded=False)  # a new generator of one seed gives one number


def _generators(source: Source, seeded: bool) -> set[str]:
    """The local names that hold generators of random numbers, also those of a seed or only the others."""
    return {
        target.id
        for part in walk(source.node)
        if isinstance(part, (ast.Assign, ast.AnnAssign)) and _makes_generator(source, part.value, seeded)
        for target in (part.targets if isinstance(part, ast.Assign) else [part.target])
        if isinstance(target, ast.Name)
    }


def _makes_generator(source: Source, value: ast.expr | None, seeded: bool) -> bool:
    if not isinstance(value, ast.Call) or not any(source.meaning(value.func) is one for one in _MAKERS):
        return False
    return seeded or not _is_seeded(value)


def _is_seeded(made: ast.Call) -> bool:
    """Return whether a generator, or what it is made of (`Generator(PCG64(3))`), is made of a seed."""
    given = [*made.args, *(word.value for word in made.keywords)]
    none = [one for one in given if isinstance(one, ast.Constant) and one.value is None]
    return bool(given) and not none and all(_is_seeded(one) for one in given if isinstance(one, ast.Call))


def _in_order(node: ast.AST) -> Iterator[ast.Name]:
    """The names of a statement as Python meets them: values before targets, `x += y` reads x.

    Names of inner scopes, of comprehensions and functions, are left out.
    """
    if isinstance(node, ast.AugAssign):
        yield from _in_order(node.value)
        if isinstance(node.target, ast.Name):
            yield ast.copy_location(ast.Name(id=node.target.id, ctx=ast.Load()), node.target)
        yield from _in_order(node.target)
    elif isinstance(node, ast.Assign):
        yield from _all_in_order([node.value, *node.targets])
    elif isinstance(node, ast.AnnAssign):  # the annotation of a name is not evaluated
        yield from _all_in_order([node.value, node.target] if node.value is not None else [])
    elif isinstance(node, ast.NamedExpr):
        yield from _all_in_order([node.value, node.target])
    elif isinstance(node, ast.For):
        yield from _all_in_order([node.iter, node.target, *node.body, *node.orelse])
    elif isinstance(node, _COMPREHENSIONS):
        yield from _of_comprehension(node)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        yield from _of_function(node)
    elif isinstance(node, ast.ClassDef):
        yield from _all_in_order([*node.decorator_list, *node.bases, *node.keywords])
        yield from read_before_assigned(node.body)
        yield _stored(node)
    elif isinstance(node, ast.Name):
        yield node
    else:
        yield from _all_in_order(ast.iter_child_nodes(node))


def _all_in_order(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    return (part for node in nodes for part in _in_order(node))


def _of_comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> Iterator[ast.Name]:
    """The names of the scope around: the first iterable is of it, and the others less the targets."""
    first, *others = node.generators
    targets = [generator.target for generator in node.generators]
    bound = {part.id for part in _all_in_order(targets) if isinstance(part.ctx, ast.Store)}
    made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    yield from _in_order(first.iter)
    for part in _all_in_order([first.target, *first.ifs, *others, *made]):
        if part.id not in bound:
            yield part


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[ast.Name]:
    """The names of the scope around: what decorators and defaults read, and the body less its own names."""
    given = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    yield from _all_in_order([*getattr(node, "decorator_list", []), *given])
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    bound = {part.arg for part in walk(node.args) if isinstance(part, ast.arg)}
    bound |= {part.id for part in _all_in_order(body) if isinstance(part.ctx, ast.Store)}
    for statement in body:
        for part in walk(statement):
            if isinstance(part, (ast.Nonlocal, ast.Global)):
                bound -= set(part.names)
    for part in _all_in_order(body):
        if part.id not in bound:
            yield part
    if not isinstance(node, ast.Lambda):
        yield _stored(node)


def _stored(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.Name:
    return ast.copy_location(ast.Name(id=node.name, ctx=ast.Store()), node)
