"""Functions of other array packages in a kernel's text, refused with what they are in Cyclotron."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import ModuleType

import numpy as np

from cyclotron.language.functions.registry import PUBLIC
from cyclotron.language.syntax.globals import module_of
from cyclotron.language.syntax.source import Source
from cyclotron.language.trace.with_blocks import host
from cyclotron.language.values.hints import MEANINGS
from cyclotron.language.values.numpy_functions import refused

_LOOP = "write `for i in range(start, stop): ...`"
_KEYS = "write `cy.random.uniform(cy.random.key(seed), shape)`, or normal or integers"
_SPACE = "write a loop over it, `for i in range(n): ...`; a schedule says where, `cy.Schedule().space('i')`"
_PLAIN = "decorate the kernel with `@cy.kernel` alone, and call other functions as they are"
_NO_THREADS = "leave it out: PEs wait for the values that they need"
_ADVICE: Mapping[str, Mapping[str, str]] = {
    "jax": {
        "fori_loop": _LOOP,
        "scan": "write a loop, `for t in range(n): ...`, that carries names or assigns `y[t]`",
        "while_loop": "write `while condition: ...`",
        "cond": "write `if`, or `cy.where(condition, a, b)`",
        "select": "write `cy.where(condition, a, b)`",
        "switch": "write `if` and `elif`, or nest `cy.where`",
        "vmap": "write the batch as an axis of arrays, which operators broadcast, or a loop over it",
        "pmap": _SPACE,
        "grad": "write the derivative: kernels have none of their own",
        "dynamic_slice": "write `x[start : start + n]`, with bounds of loops or of the host",
        "dynamic_update_slice": "write `y[start : start + n] = x`",
        "PRNGKey": "write `cy.random.key(seed)`",
        "key": "write `cy.random.key(seed)`",
        "split": "write `cy.random.fold_in(key, number)`",
        **dict.fromkeys(("uniform", "normal", "randint", "bernoulli"), _KEYS),
    },
    "numba": {
        "prange": "write `range`: what runs at once is the schedule's, `cy.Schedule().space('i')`",
        "grid": _SPACE,
        "syncthreads": _NO_THREADS,
        "shared": "write an array, `cy.empty(shape)`: the compiler keeps values where they are used",
        "atomic": "write `y[i] += v` in a loop",
    },
    "triton": {
        "load": "write `x[i]`, or a slice: arrays are subscripted, not pointers",
        "store": "write `y[i] = value`, or assign a slice",
        "program_id": _SPACE,
        "num_programs": "write the size of the axis, e.g. `x.shape[0]`",
        "dot": "write `A @ B`",
        "atomic_add": "write `y[i] += v` in a loop",
        "debug_barrier": _NO_THREADS,
        "cdiv": "write `-(-a // b)`",
    },
    "torch": {
        "cat": "write `cy.concatenate([x, y], axis)`",
        "mm": "write `A @ B`",
        "bmm": "write `A @ B`",
        "no_grad": "leave it out: there is no gradient",
    },
    "cupy": {},
    "tensorflow": {"reduce_sum": "write `cy.sum(x, axis)`", "function": "decorate with `@cy.kernel` alone"},
}
_OF_ALL: Mapping[str, str] = {
    **dict.fromkeys(("jit", "njit", "compile"), _PLAIN),
    "relu": "write `cy.maximum(x, 0)`",
    "sigmoid": "write `1 / (1 + cy.exp(-x))`",
    "softmax": "write `e = cy.exp(x - cy.max(x, axis=-1, keepdims=True))` and divide by its sum",
    "clamp": "write `cy.clip(x, low, high)`",
    "tensor": "write `cy.array(values)`",
    "device_put": "leave it out: where arrays are, the compiler decides",
}


def check_packages(source: Source) -> None:
    """Raise `TraceError` (CYC105) for functions of other packages, and for some that NumPy does not have.

    What `with cy.host()` runs is not looked at.
    """
    for call in _calls(source, source.node):
        if isinstance(call, ast.Subscript):
            if isinstance(call.value, ast.Attribute) and call.value.attr == "at":
                text = ast.unparse(call.value)
                raise source.error(call, "CYC105", f"`{text}[...]` is JAX's", MEANINGS[".at"])
            continue
        if isinstance(call.func, ast.Attribute) and source.meaning(call.func.value) is np:
            name = call.func.attr
            if not hasattr(np, name):
                error = refused(f"np.{name}")
                raise source.error(call, "CYC105", error.message, error.help or "")
            continue
        root: ast.expr = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        owner = source.meaning(root)
        module = owner.__name__ if isinstance(owner, ModuleType) else module_of(owner)
        package = module.partition(".")[0]
        if package not in _ADVICE:
            continue
        text = ast.unparse(call.func)
        raise source.error(
            call,
            "CYC105",
            f"`{text}` is a function of {package}, which does not know the arrays of kernels",
            _advice(package, text.split(".")),
        )


def _advice(package: str, names: list[str]) -> str:
    for name in reversed(names):
        if found := _ADVICE[package].get(name, _OF_ALL.get(name)):
            return found
    if names[-1] in PUBLIC:
        return f"write `cy.{names[-1]}`, which is NumPy's"
    return (
        "write it with operators of arrays and NumPy's functions; code that runs once, while tracing, is for"
        " `with cy.host():`"
    )


def _calls(source: Source, node: ast.AST) -> Iterator[ast.Call | ast.Subscript]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.With) and any(_is_host(source, item.context_expr) for item in part.items):
            continue
        if isinstance(part, ast.Call | ast.Subscript):
            yield part
        if part not in getattr(node, "decorator_list", ()):
            yield from _calls(source, part)


def _is_host(source: Source, opened: ast.expr) -> bool:
    return isinstance(opened, ast.Call) and source.meaning(opened.func) is host
