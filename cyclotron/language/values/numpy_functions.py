"""NumPy's functions of whole arrays in kernels: those that the compiler knows, and the errors of the others.

The tables are filled by `cyclotron.language.functions.registry`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cyclotron.language.values import dispatch, operations
from cyclotron.language.values.hints import MEANINGS
from cyclotron.language.values.scalars import of_numpy
from cyclotron.language.values.source_span import trace_error
from cyclotron.support.errors import TraceError

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Cyclotron's functions of arrays by NumPy's."""
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
"""Compositions of operators by NumPy's ufuncs."""
UFUNC_METHODS = ("reduce", "reduceat", "accumulate", "outer", "at")
OF_UFUNCS: dict[str, dict[np.ufunc, Callable[..., Any]]] = {}
"""Functions by the methods of NumPy's ufuncs that they are, with the axis 0 by default."""
METHODS: dict[str, Callable[..., Any]] = {}
"""Functions that are methods of arrays, besides those that arrays define."""
ELEMENTWISE: set[Callable[..., Any]] = set()
"""Functions of NumPy, besides its ufuncs, that compute each element by itself."""
NAMES: set[str] = set()
"""The names that errors suggest, those of `cy.linalg` with it."""

_INSTEAD = {
    "out": "assign the result, e.g. `x[...] = x + y`",
    "dtype": 'convert the operand first, e.g. `cy.max(x.astype("float64"))`',
    "initial": "combine the result with the value, e.g. `cy.sum(x) + start`",
    "where": "choose elements with `cy.where`, e.g. `cy.where(mask, x + y, x)`",
    "dim": "NumPy's word for it is `axis=`",
    "keepdim": "NumPy's word for it is `keepdims=`",
    "axis": "fold along axes with cy.sum, e.g. `cy.sqrt(cy.sum(A * A, axis=0))`",
}


def called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call the meaning of a function of NumPy on symbolic arrays.

    Raises
    ------
    TraceError
        CYC105 if the compiler does not have it.
    """
    own = FUNCTIONS.get(function)
    module = "np.linalg" if "linalg" in (getattr(function, "__module__", "") or "") else "np"
    what = f"{module}.{function.__name__}"
    if own is None:
        raise refused(what)
    parameters = inspect.signature(own).parameters
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
        check_options(what, [name for name in kwargs if name not in parameters])
        return own(*args, **kwargs)
    given = {**dict(zip(_parameters(function, own), args, strict=False)), **kwargs}
    check_options(what, [name for name in given if name not in parameters and given[name] is not None])
    given = {name: value for name, value in given.items() if name in parameters}
    return own(**given)


def called_method(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Call the meaning of a method of a ufunc of NumPy, `np.add.reduce(x)`; raises as `called`."""
    own, what = OF_UFUNCS.get(method, {}).get(ufunc), f"np.{ufunc.__name__}.{method}"
    if method == "outer" and len(inputs) == 2 and not options:
        left, right = map(np.ndim, inputs)
        return ufunc(np.expand_dims(inputs[0], tuple(range(left, left + right))), inputs[1])
    if own is None:
        raise refused(what)
    check_options(what, [name for name in options if name not in inspect.signature(own).parameters])
    return own(*inputs, **{"axis": 0, **options})


def _parameters(function: Callable[..., Any], own: Callable[..., Any]) -> list[str]:
    """Parameter names of a function of NumPy; of Cyclotron's where NumPy does not tell."""
    if function is np.where:
        return list(inspect.signature(own).parameters)
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return list(inspect.signature(own).parameters)


def check_options(what: str, names: Sequence[str]) -> None:
    """Raise `TraceError` (CYC105) for arguments that a function has in NumPy only."""
    if names:
        raise unknown_option(what, names[0])


def unknown_option(what: str, name: str) -> TraceError:
    """The error for an argument that a function has in NumPy only."""
    return trace_error(
        "CYC105",
        f"`{what}` with `{name}=` is not supported while a kernel is traced",
        help=_INSTEAD.get(name, "leave it out, or write the result with operators of arrays"),
    )


def refused(what: str) -> TraceError:
    """The error for a function or method that arrays do not have, with the nearest names."""
    name = what.rpartition(".")[2]
    meaning = MEANINGS.get(f"np.{name}" if what.startswith("np.") else f".{name}", MEANINGS.get(name))
    if meaning is not None:
        return trace_error(
            "CYC105", f"`{what}` is not known of arrays while a kernel is traced", help=meaning
        )
    if name in NAMES and not what.startswith("cy."):
        return trace_error("CYC105", f"`{what}` is not known of arrays", help=f"write `cy.{name}(...)`")
    if what.startswith("cy.linalg."):
        functions = ", ".join(f"cy.{name}" for name in sorted(NAMES) if name.startswith("linalg."))
        return trace_error(
            "CYC105", f"`{what}` is not known in kernels", help=f"there is {functions}, and `@` for products"
        )
    if hasattr(np, name) or hasattr(np.linalg, name) or hasattr(np.ndarray, name):  # no slip of the pen
        help = (
            "write it with operators of arrays and the functions that there are, or compute it outside of the"
        )
        help += " kernel and pass the result as an argument"
    else:
        import difflib

        near = difflib.get_close_matches(
            name.removeprefix("nan"), [n for n in NAMES if "." not in n], 3, 0.75
        )
        names = ", ".join(f"cy.{name}" for name in near or ("where", "sum", "roll", "shift", "exp"))
        help = f"there is {names}{'' if near else ', ...'}; arrays have .shape, .ndim, .size, .dtype, .T,"
        help += " .copy() and .astype()"
    return trace_error("CYC105", f"`{what}` is not known of arrays while a kernel is traced", help=help)


def ufunc(function: np.ufunc) -> Callable[..., Any] | None:
    """Return the meaning of a ufunc of NumPy on elements and arrays; None where there is none."""
    own = operations.UFUNCS.get(function) or UFUNCS.get(function)
    return own and (lambda *values: of_numpy(own(*values)))


def method(name: str) -> Callable[..., Any] | None:
    """Return the function that is a method of arrays; None if there is none, or arrays define it."""
    return METHODS.get(name)


dispatch.implement(ufunc=ufunc, is_elementwise=lambda function: function in ELEMENTWISE, call_of_numpy=called)
