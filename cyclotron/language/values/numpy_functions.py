"""NumPy's functions of whole arrays in kernels: which the compiler knows, and what it says of the others."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cyclotron.errors import TraceError
from cyclotron.language.expressions import elements
from cyclotron.language.expressions.dtypes import of_numpy, selected
from cyclotron.language.expressions.position import here

_INSTEAD = {
    "out": "assign the result, e.g. `x[...] = x + y`",
    "dtype": 'convert the operand first, e.g. `cy.max(x.astype("float64"))`',
    "initial": "combine the result with the value, e.g. `cy.sum(x) + start`",
    "where": "choose elements with `cy.where`, e.g. `cy.sum(cy.where(mask, x, 0))`",
    "axis": "fold along axes with cy.sum, e.g. `cy.sqrt(cy.sum(A * A, axis=0))`",
}

_OTHERWISE = {
    "cumsum": "write the recurrence, e.g. `y[i] = y[i - 1] + x[i]` in a loop over i",
    "cumprod": "write the recurrence, e.g. `y[i] = y[i - 1] * x[i]` in a loop over i",
    "take": "write `cy.take_along_axis(x, indices, axis=0)`, whose indices have as many axes",
    "linspace": "pass the numbers to the kernel as an argument",
    "average": "use cy.mean, or with weights `cy.sum(w * x) / cy.sum(w)`",
    "median": "a median needs all elements in order: sort them outside of the kernel",
    "ptp": "write `cy.max(x) - cy.min(x)`",
    "count_nonzero": "write `cy.sum(x != 0)`",
    "inner": "use `@` or cy.dot, e.g. `x @ y.T`",
    "vdot": "write `cy.sum(cy.conj(x) * y)`",
    "kron": "write a loop for each axis of both, e.g. `C[n * i + k] = x[i] * y[k]`",
    "angle": "write `cy.arctan2(cy.imag(x), cy.real(x))`",
    "trunc": "write `cy.where(x < 0, cy.ceil(x), cy.floor(x))`",
    "copysign": "write `cy.where(y < 0, -cy.abs(x), cy.abs(x))`",
    "fmax": "use cy.maximum, and `cy.where(cy.isnan(x), y, x)` where NaNs do not count",
    "fmin": "use cy.minimum, and `cy.where(cy.isnan(x), y, x)` where NaNs do not count",
    "nbytes": "write `x.size * x.dtype.itemsize`",
    "sort": "exchange neighbours with cy.minimum and cy.maximum, e.g. by odd and even places in turn",
    "stack": "join arrays with a new axis, e.g. `cy.concatenate([x[None], y[None]])`",
} | dict.fromkeys(
    ("reshape", "ravel", "flatten"), "give the argument its shape before the call, or index it as it is"
)


def called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call what a function of NumPy is on symbolic arrays.

    Raises
    ------
    TraceError
        CYC105 if the compiler does not have it.
    """
    own = _known().get(function)
    module = "np.linalg" if "linalg" in (getattr(function, "__module__", "") or "") else "np"
    what = f"{module}.{function.__name__}"
    if own is None:
        raise refused(what)
    parameters = inspect.signature(own).parameters
    given = {**dict(zip(_parameters(function, own), args, strict=False)), **kwargs}
    check_options(what, [name for name in given if name not in parameters and given[name] is not None])
    given = {name: value for name, value in given.items() if name in parameters}
    missing = [name for name, one in parameters.items() if one.default is one.empty and name not in given]
    if missing:
        raise TraceError(
            f"`{what}` has {len(given)} of the {len(given) + len(missing)} arguments that it needs while a"
            " kernel is traced",
            code="CYC105",
            span=here(),
            help="choose values with `np.where(mask, a, b)`; how many elements a mask has depends on data",
        )
    return own(**given)


def _parameters(function: Callable[..., Any], own: Callable[..., Any]) -> list[str]:
    """The names of the parameters of a function of NumPy; where it does not tell those of Cyclotron's."""
    if function is np.where:
        return list(inspect.signature(own).parameters)
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return list(inspect.signature(own).parameters)


def check_options(what: str, names: Sequence[str]) -> None:
    """Raise `TraceError` (CYC105) for arguments that a function has in NumPy only."""
    if names:
        raise TraceError(
            f"`{what}` with `{names[0]}=` is not supported while a kernel is traced",
            code="CYC105",
            span=here(),
            help=_INSTEAD.get(names[0], "leave it out, or write the result with operators of arrays"),
        )


def refused(what: str) -> TraceError:
    """The error for a function or method that arrays do not have, with the nearest names."""
    import cyclotron.language as language

    if what.rpartition(".")[2] in _OTHERWISE:
        return TraceError(
            f"`{what}` is not known of arrays while a kernel is traced",
            code="CYC105",
            span=here(),
            help=_OTHERWISE[what.rpartition(".")[2]],
        )
    known = [name for name in language.__all__ if name.islower() and name not in ("il", "kernel", "host")]
    if what.startswith("cy.linalg."):
        functions = ", ".join(f"cy.linalg.{name}" for name in language.linalg.__all__)
        return TraceError(
            f"`{what}` is not known in kernels",
            code="CYC105",
            span=here(),
            help=f"there is {functions}, and `@` for products",
        )
    name = what.rpartition(".")[2]
    near = difflib.get_close_matches(name.removeprefix("nan"), known, 3, 0.75)
    names = ", ".join(f"cy.{name}" for name in near or ("where", "sum", "roll", "shift", "exp"))
    return TraceError(
        f"`{what}` is not known of arrays while a kernel is traced",
        code="CYC105",
        span=here(),
        help=f"there is {names}{'' if near else ', ...'}; arrays have .shape, .ndim, .size, .dtype, .T,"
        " .copy() and .astype()",
    )


def ufunc(function: np.ufunc) -> Callable[..., Any] | None:
    """What a ufunc of NumPy is on elements and arrays; None if the compiler does not have it."""
    from cyclotron.language.functions import compositions

    composed: dict[np.ufunc, Callable[..., Any]] = {
        np.tan: compositions.tan,
        np.log2: compositions.log2,
        np.log10: compositions.log10,
        np.isinf: compositions.isinf,
        np.rint: lambda x: compositions.round(compositions.floating(np.rint, x)),
        np.fabs: lambda x: elements.apply("absolute", compositions.floating(np.fabs, x)),
    }
    known = elements.UFUNCS.get(function) or composed.get(function)
    return known and (lambda *values: of_numpy(known(*values)))


def method(name: str) -> Callable[..., Any] | None:
    """The function that a method of arrays is; None if arrays have no such method, or one of their own."""
    from cyclotron.language.functions import compositions, folds, rearranged, searching

    functions = {
        "prod": folds.prod,
        "var": folds.var,
        "std": folds.std,
        "clip": lambda a, min=None, max=None: compositions.clip(a, min, max),  # NumPy's names
        "round": compositions.round,
        "diagonal": rearranged.diagonal,
        "trace": rearranged.trace,
        "argmax": searching.argmax,
        "argmin": searching.argmin,
    }
    return functions.get(name)


def _known() -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """Cyclotron's functions by NumPy's."""
    from cyclotron.language.arrays import products
    from cyclotron.language.arrays.whole import axis_of
    from cyclotron.language.functions import along_axis, compositions, folds, rearranged, searching, shifts

    return {
        np.prod: folds.prod,
        np.var: folds.var,
        np.std: folds.std,
        np.clip: compositions.clip,
        np.round: compositions.round,
        np.isclose: compositions.isclose,
        np.allclose: compositions.allclose,
        np.flip: rearranged.flip,
        np.diff: rearranged.diff,
        np.diagonal: rearranged.diagonal,
        np.trace: rearranged.trace,
        np.tril: rearranged.tril,
        np.triu: rearranged.triu,
        np.concatenate: rearranged.concatenate,
        np.pad: rearranged.pad,
        np.sum: folds.sum,
        np.max: folds.max,
        np.min: folds.min,
        np.any: folds.any,
        np.all: folds.all,
        np.mean: folds.mean,
        np.take_along_axis: along_axis.take_along_axis,
        np.put_along_axis: along_axis.put_along_axis,
        np.argmax: searching.argmax,
        np.argmin: searching.argmin,
        np.linalg.norm: folds.norm,
        np.dot: products.dot,
        np.outer: products.outer,
        np.roll: shifts.roll,
        np.where: selected,
        np.transpose: lambda a, axes=None: a.transpose(*(axes or ())),
        np.copy: lambda a: a.copy(),
        np.real: lambda val: val.real,
        np.imag: lambda val: val.imag,
        np.shape: lambda a: a.shape,
        np.ndim: lambda a: a.ndim,
        np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis_of(axis, a.ndim, "size")],
    }
