"""Timeloop's problems as kernels: the text of a loop nest, in the names of the problem."""

from __future__ import annotations

import itertools
import keyword
import linecache
import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from cyclotron.interop.network import Layer
from cyclotron.kernel import Kernel, kernel
from cyclotron.language import empty, spec
from cyclotron.support.arguments import file_bytes, shown
from cyclotron.support.data import require_package
from cyclotron.support.errors import ShapeError

__all__ = ["from_timeloop"]

_NUMBERS = itertools.count()
_LONGEST_LINE = 100
_USED_BY_THE_TEXT = {"cy", "range", "sum"}


class _DataSpace(NamedTuple):
    """A tensor: for each axis the dimensions that are added up to its subscript, with their coefficients."""

    name: str
    axes: list[dict[str, int]]
    written: bool

    def subscripts(self) -> str:
        terms = [
            " + ".join(name if factor == 1 else f"{factor} * {name}" for name, factor in axis.items())
            for axis in self.axes
        ]
        return f"{self.name}[{', '.join(terms)}]"

    def shape(self, extents: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(
            1 + sum(factor * (extents[name] - 1) for name, factor in axis.items()) for axis in self.axes
        )


def from_timeloop(problem: str | Path | Mapping[str, Any], *, dtype: str = "float64") -> Layer:
    """Make a kernel of a Timeloop problem.

    The kernel is the problem's loop nest: the loops and tensors have its names, ``space("M", "P")`` and
    ``stream("Weights", ...)`` are what Timeloop calls spatial and multicast. The data space that is written
    holds, for each point of its dimensions, the sum over the others of the product of all that are read.
    Densities are left out: all is dense.

    Parameters
    ----------
    problem : str, Path or mapping
        A YAML file with ``problem``, which has a ``shape`` (``dimensions``, ``coefficients``,
        ``data_spaces`` with ``projection``) and an ``instance``; or what such a file holds. Files need
        PyYAML.
    dtype : str
        Of the tensors.

    Returns
    -------
    Layer
        The kernel with the shapes of its inputs; ``print(layer.kernel.source)`` shows it.

    Raises
    ------
    BackendUnavailable
        CYC722 if a file is given and PyYAML is not installed.
    ShapeError
        CYC742 if it is no such problem, or the written data space is not subscripted by single dimensions.

    Examples
    --------
    >>> spaces = [{"name": "Image", "projection": [[["P"], ["R"]]]}, {"name": "Filter", "projection": ["R"]}]
    >>> spaces += [{"name": "Out", "projection": ["P"], "read_write": True}]
    >>> shape = {"name": "conv1d", "dimensions": ["P", "R"], "data_spaces": spaces}
    >>> layer = cy.from_timeloop({"problem": {"shape": shape, "instance": {"P": 6, "R": 3}}})
    >>> print(layer.kernel.source)
    @cy.kernel
    def conv1d(Image, Filter):
        Out = cy.empty((6,), Image.dtype)
        for P in range(6):
            Out[P] = sum(Image[P + R] * Filter[R] for R in range(3))
        return Out
    >>> layer.kernel(np.arange(8.0), np.ones(3)).tolist()
    [3.0, 6.0, 9.0, 12.0, 15.0, 18.0]
    """
    document = _normalized(problem if isinstance(problem, Mapping) else _read(problem))
    stated = document.get("problem", document) if isinstance(document, dict) else None
    shape = stated.get("shape") if isinstance(stated, dict) else None
    if stated is None or not isinstance(shape, dict):
        raise _unfit(
            f"the problem has the shape {shown(shape)}, which is not written out",
            "write `shape` with dimensions and data_spaces into the file",
        )
    name = _identifier(str(shape.get("name", "problem")), "the shape")
    extents, coefficients = _sizes(shape, stated.get("instance", stated))
    spaces = [_data_space(space, extents, coefficients) for space in _entries(shape, "data_spaces")]
    written = [space for space in spaces if space.written]
    inputs = [space for space in spaces if not space.written]
    if len(written) != 1 or not inputs:
        raise _unfit(
            f"{len(written)} data spaces of `{name}` are written and {len(inputs)} are read",
            "mark one of them by read_write: true, and leave at least another one",
        )
    output = written[0]
    for axis in output.axes:
        if list(axis.values()) != [1] or output.axes.count(axis) > 1:
            raise _unfit(
                f"`{output.subscripts()}` is not subscripted by dimensions of its own",
                "give each axis of the written data space one dimension, without a coefficient",
            )
    names = [name, *extents, *(space.name for space in spaces)]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise _unfit(f"`{twice[0]}` names two things", "rename the shape, a dimension or a data space")
    arguments = {space.name: spec(space.shape(extents), dtype) for space in inputs}
    function = _kernel(name, _text(name, output, inputs, extents))
    return Layer(name, function, arguments, output.shape(extents), math.prod(extents.values()))


def _read(path: str | Path) -> Any:
    data = file_bytes(path, error=ShapeError, code="CYC742", help="give the path of a Timeloop problem")
    yaml = require_package("yaml", instead="give what the file holds, as a dict")
    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise _unfit(f"`{path}` is no YAML: {first}", "give the path of a Timeloop problem") from None


def _normalized(value: Any) -> Any:
    """Return a document whose keys are those of version 0.4: `data_spaces` for `data-spaces`."""
    if isinstance(value, Mapping):
        return {str(key).replace("-", "_"): _normalized(item) for key, item in value.items()}
    return [_normalized(item) for item in value] if isinstance(value, list | tuple) else value


def _sizes(shape: Mapping[str, Any], instance: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Return the extents of the dimensions and the coefficients, by name."""
    given = instance if isinstance(instance, dict) else {}
    dimensions = shape.get("dimensions")
    if not isinstance(dimensions, list) or not dimensions:
        raise _unfit(f"the dimensions of the shape are {shown(dimensions)}", "list their names")
    extents = {_identifier(str(name), "a dimension"): _positive(str(name), given) for name in dimensions}
    coefficients = {}
    for entry in _entries(shape, "coefficients", required=False):
        name = str(entry.get("name"))
        coefficients[name] = _positive(name, {name: entry.get("default"), **given})
    return extents, coefficients


def _positive(name: str, given: Mapping[str, Any]) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        is_what = "is not given" if value is None else f"is {shown(value)}"
        raise _unfit(f"`{name}` of the instance {is_what}", "give a whole number of at least 1")
    return value


def _entries(shape: Mapping[str, Any], key: str, *, required: bool = True) -> list[dict[str, Any]]:
    entries = shape.get(key, None if required else [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _unfit(f"`{key}` of the shape is {shown(entries)}", "give a list of entries with names")
    return entries


def _data_space(
    entry: Mapping[str, Any], extents: Mapping[str, int], coefficients: Mapping[str, int]
) -> _DataSpace:
    name = _identifier(str(entry.get("name")), "a data space")
    projection = entry.get("projection")
    if not isinstance(projection, list):
        raise _unfit(
            f"the projection of `{name}` is {shown(projection)}", "give a list, with an entry an axis"
        )
    axes = []
    for axis in projection:
        terms = [[axis]] if isinstance(axis, str) else axis
        added: dict[str, int] = {}
        for term in terms if isinstance(terms, list) else [terms]:
            parts = [term] if isinstance(term, str) else term
            if not isinstance(parts, list) or len(parts) not in (1, 2) or parts[0] not in extents:
                raise _unfit(
                    f"the projection of `{name}` has the term {shown(term)}",
                    "a term is [dimension] or [dimension, coefficient]",
                )
            if len(parts) == 2 and parts[1] not in coefficients:
                raise _unfit(
                    f"the projection of `{name}` has {shown(parts[1])}, no coefficient of the shape",
                    "list it under `coefficients`, with a default",
                )
            factor = coefficients[parts[1]] if len(parts) == 2 else 1
            added[parts[0]] = added.get(parts[0], 0) + factor
        if not added:
            raise _unfit(f"the projection of `{name}` has an axis without terms", "leave the axis out")
        axes.append(added)
    return _DataSpace(name, axes, bool(entry.get("read_write", False)))


def _identifier(name: str, what: str) -> str:
    """Return a name as Python has names: "CNN-Layer" becomes CNN_Layer."""
    found = re.sub(r"\W", "_", name)
    if not found.isidentifier() or keyword.iskeyword(found) or found in _USED_BY_THE_TEXT:
        raise _unfit(f"{what} is called {shown(name)}, which cannot be a name of Python", "give another name")
    return found


def _text(name: str, output: _DataSpace, inputs: list[_DataSpace], extents: Mapping[str, int]) -> str:
    """Return the text of the kernel."""
    outer = [dimension for axis in output.axes for dimension in axis]
    inner = [dimension for dimension in extents if dimension not in outer]
    product = " * ".join(space.subscripts() for space in inputs)
    lines = [
        "@cy.kernel",
        f"def {name}({', '.join(space.name for space in inputs)}):",
        f"    {output.name} = cy.empty({output.shape(extents)}, {inputs[0].name}.dtype)",
    ]
    for depth, dimension in enumerate(outer, 1):
        lines.append(f"{'    ' * depth}for {dimension} in range({extents[dimension]}):")
    indent = "    " * (len(outer) + 1)
    loops = [f"for {dimension} in range({extents[dimension]})" for dimension in inner]
    assigned = f"{indent}{output.subscripts()} = "
    short = assigned + (f"sum({' '.join([product, *loops])})" if inner else product)
    if len(short) <= _LONGEST_LINE or not inner:
        lines.append(short)
    else:
        lines += [f"{assigned}sum(", *(f"{indent}    {part}" for part in (product, *loops)), f"{indent})"]
    return "\n".join([*lines, f"    return {output.name}", ""])


def _kernel(name: str, text: str) -> Kernel[..., Any]:
    """Return the kernel of a text, which tracebacks and `Kernel.source` find as they find files."""
    file = f"<timeloop {name} {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"cy": SimpleNamespace(kernel=kernel, empty=empty)}
    exec(compile(text, file, "exec"), names)
    made: Kernel[..., Any] = names[name]
    return made


def _unfit(message: str, help: str) -> ShapeError:
    return ShapeError(message, code="CYC742", help=help)
