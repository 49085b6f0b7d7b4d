"""Code of the host whose value is another one at each run: a kernel is recorded once, and its loops too."""

from __future__ import annotations

import ast
import builtins
import random
import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cyclotron.errors import TraceError
from cyclotron.language.source import Source
from cyclotron.language.syntax import walk

_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_MAKERS = (np.random.default_rng, *_GENERATORS)
_OTHERS = (time.time, time.time_ns, time.perf_counter, time.monotonic, time.process_time, builtins.input)


def drawing_calls(source: Source, node: ast.AST) -> Iterator[ast.Call]:
    """The calls in a part of a kernel that draw random numbers, read a clock or ask the user."""
    for part in walk(node):
        if isinstance(part, ast.Call) and draws(source, part.func):
            yield part


def drawn_once(source: Source, node: ast.Call, where: str) -> TraceError:
    """The error for such a call, which stands `where` it runs once."""
    return source.error(
        node,
        "CYC105",
        f"`{source.text_of(node)}` gives another value at each call, and {where}",
        "make the values before and pass them to the kernel, as an array for a loop: `for r in numbers:`",
    )


def read_before_assigned(body: Sequence[ast.stmt]) -> Iterator[ast.Name]:
    """The names that statements read where they have not assigned them."""
    assigned: set[str] = set()
    for part in _all_in_order(body):
        if isinstance(part.ctx, ast.Load) and part.id not in assigned:
            yield part
        elif isinstance(part.ctx, ast.Store):
            assigned.add(part.id)


def draws(source: Source, function: ast.expr) -> bool:
    """Whether a function draws random numbers, reads a clock or asks the user."""
    found = source.meaning(function)
    if isinstance(getattr(found, "__self__", None), _GENERATORS) or any(found is one for one in _OTHERS):
        return True
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value
    if isinstance(owner, ast.Name):
        return isinstance(source.meaning(owner), _GENERATORS) or owner.id in _generators(source)
    seeded = isinstance(owner, ast.Call) and (owner.args or owner.keywords)
    return _makes_generator(source, owner) and not seeded  # a new generator of one seed gives one number


def _generators(source: Source) -> set[str]:
    """The local names that hold generators of random numbers."""
    return {
        target.id
        for part in walk(source.node)
        if isinstance(part, ast.Assign) and _makes_generator(source, part.value)
        for target in part.targets
        if isinstance(target, ast.Name)
    }


def _makes_generator(source: Source, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and any(source.meaning(value.func) is one for one in _MAKERS)


def _in_order(node: ast.AST) -> Iterator[ast.Name]:
    """The names of a statement as Python meets them: values before targets, `x += y` reads x."""
    if isinstance(node, ast.AugAssign):
        yield from _in_order(node.value)
        if isinstance(node.target, ast.Name):
            yield ast.copy_location(ast.Name(id=node.target.id, ctx=ast.Load()), node.target)
        yield from _in_order(node.target)
    elif isinstance(node, ast.Assign):
        yield from _all_in_order([node.value, *node.targets])
    elif isinstance(node, ast.For):
        yield from _all_in_order([node.iter, node.target, *node.body, *node.orelse])
    elif isinstance(node, ast.Name):
        yield node
    else:
        yield from _all_in_order(ast.iter_child_nodes(node))


def _all_in_order(nodes: Iterable[ast.AST]) -> Iterator[ast.Name]:
    return (part for node in nodes for part in _in_order(node))
