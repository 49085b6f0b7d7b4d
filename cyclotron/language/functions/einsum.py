"""`cy.einsum`: tensor algebra as the recurrence that it abbreviates; NumPy's own outside of a trace."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function, plain_result
from cyclotron.language.trace import values
from cyclotron.language.trace.loops import loop
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import SymbolicArray, materialized
from cyclotron.language.values.blocked import Blocked, Extent, resolve_shape
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.context import ACTIVE
from cyclotron.language.values.host_arrays import constant
from cyclotron.language.values.nodes import Element
from cyclotron.language.values.operations import apply, matmul
from cyclotron.language.values.reference import plain, wrap
from cyclotron.language.values.scalar_type import sum_dtype
from cyclotron.language.values.scalars import converted
from cyclotron.language.values.source_span import trace_error
from cyclotron.language.values.subscripts import Pick
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.errors import TraceError


@dataclass(frozen=True)
class Subscripts:
    """``"ik,kj->ij"`` taken apart: the letters of each operand and of the result."""

    operands: tuple[str, ...]
    result: str

    @property
    def summed(self) -> str:
        """The letters that the result lacks, in the order of their first use."""
        return "".join(x for x in dict.fromkeys("".join(self.operands)) if x not in self.result)


@numpy_function(np.einsum, or_numpy=False, role="declaration")
def einsum(subscripts: str, *operands: Any, optimize: Any = False, name: str | None = None) -> Any:
    """Multiply tensors and sum over the indices that the result lacks, as NumPy's ``einsum``.

    In a kernel ``C = cy.einsum("ik,kj->ij", A, B)`` is the loops over i and j with
    ``C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))`` in them, and declares C.

    Parameters
    ----------
    subscripts : str
        One letter for each axis of each operand, then ``->`` and those of the result; without ``->`` the
        letters used once, in alphabetical order. A letter twice in one operand takes its diagonal.
    *operands : ndarray or Blocked
        The tensors, as many as there are groups of letters. Of tiles one or two matrices: a product, an
        elementwise product, a transposed or an equal one.
    optimize : optional
        As NumPy's, without effect: sums have the order of the indices.
    name : str, optional
        The name in messages; set by the tracer.

    Returns
    -------
    ndarray or Blocked
        In a kernel under trace, a symbolic tensor.

    Raises
    ------
    ShapeError
        If the subscripts are malformed or do not fit the operands (CYC123).

    Examples
    --------
    >>> @cy.kernel
    ... def f(A, x):
    ...     return cy.einsum("ij,j->i", A, x)
    >>> f(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones(2)).tolist()
    [3.0, 7.0]
    """
    parts = parse(subscripts)
    context = ACTIVE.get()
    if isinstance(context, Trace):
        operands = tuple(map(_operand, operands))
    shapes = [tuple(operand.shape) for operand in operands]
    extents = _extents(parts, shapes)
    shape = tuple(extents[x] for x in parts.result)
    if isinstance(context, Trace):
        return _trace(context, parts, operands, extents, name)
    arrays = [np.asarray(plain(operand)) for operand in operands]
    result = np.asarray(np.einsum(f"{','.join(parts.operands)}->{parts.result}", *arrays))
    if context and not shape:
        return plain_result(result)  # a scalar
    tile = resolve_shape(shape, None)[1]
    whole: Any = result if tile is None else Blocked(result, tile)
    return wrap(whole) if context else whole


def parse(subscripts: str) -> Subscripts:
    """Take subscripts apart; raise `TraceError` where they are malformed."""
    text = "".join(subscripts.split())
    left, arrow, result = text.partition("->")
    operands = tuple(left.split(","))
    letters = "".join(operands)
    if not arrow:
        result = "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    wrong = next((x for x in letters + result if not (x.isascii() and x.isalpha())), None)
    if wrong is not None:
        raise _malformed(f"the subscripts `{subscripts}` have `{wrong}` where a letter is needed")
    for x in result:
        if x not in letters:
            raise _malformed(f"the result of `{subscripts}` has the index `{x}`, which no operand has")
        if result.count(x) > 1:
            raise _malformed(f"the result of `{subscripts}` has the index `{x}` twice")
    return Subscripts(operands, result)


def _operand(value: Any) -> SymbolicArray:
    """An array whose elements are there: a tensor, or a part of one."""
    array = constant(value) if isinstance(value, np.ndarray) else value
    if not isinstance(array, SymbolicArray):
        raise trace_error(
            "CYC105",
            "an operand of einsum is no tensor of the kernel",
            help="pass arguments of the kernel, or tensors declared in it",
        )
    if not isinstance(array, SymbolicTensor):
        whole_numbers(array.shape, "an operand of einsum")
    return materialized(array)


def _extents(parts: Subscripts, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The number of elements along each index."""
    if len(parts.operands) != len(shapes):
        raise _malformed(
            f"the subscripts are for {len(parts.operands)} operands, and {len(shapes)} are given"
        )
    found: dict[str, int] = {}
    for letters, shape in zip(parts.operands, shapes, strict=True):
        if len(letters) != len(shape):
            raise _malformed(f"the subscripts `{letters}` are for an operand that has {len(shape)} axes")
        for x, size in zip(letters, shape, strict=True):
            known = found.setdefault(x, size)
            if _sizes(known) != _sizes(size):
                raise unfit(
                    f"the index `{x}` runs over {_text(known)} and over {_text(size)}",
                    "give both axes the same size, or different letters",
                )
    return found


def _trace(
    trace: Trace, parts: Subscripts, operands: Sequence[Any], extents: Mapping[str, int], name: str | None
) -> SymbolicArray:
    """Record the loops and the one equation; what only names the axes of one operand is a view of it."""
    in_tiles = isinstance(operands[0], SymbolicTensor) and operands[0].blocked
    if len(operands) == 1 and not parts.summed and not in_tiles:
        picks = [Pick(Affine({}, 0), 1, parts.result.index(x)) for x in parts.operands[0]]
        view: SymbolicArray = operands[0].taken(picks, tuple(int(extents[x]) for x in parts.result))
        return view
    scalars, tile = resolve_shape([extents[x] for x in parts.result], None)
    dtype = np.result_type(*(operand.dtype for operand in operands)).name
    tensor = trace.declare(name, scalars, tile, dtype, None, anywhere=tile is None)
    tensor.complete = bool(trace.indices())
    with ExitStack() as loops:
        trace.calls.append("einsum")  # its indices are its own, whatever those of the loops around are called
        loops.callback(trace.calls.pop)
        indices = {x: loops.enter_context(loop(x, extents[x])) for x in parts.result}
        tensor[tuple(indices[x] for x in parts.result)] = _sum(
            parts, operands, extents, parts.summed, indices
        )
    return tensor


def _sum(
    parts: Subscripts,
    operands: Sequence[SymbolicArray],
    extents: Mapping[str, int],
    summed: str,
    indices: Mapping[str, Affine],
) -> Element:
    if not summed:
        elements = [
            operand[tuple(indices[x] for x in letters)]
            for letters, operand in zip(parts.operands, operands, strict=True)
        ]
        return _product(parts, elements)
    index, rest = summed[0], summed[1:]
    total: Element = values.sum(
        index, 0, extents[index], lambda k: _sum(parts, operands, extents, rest, {**indices, index: k})
    )
    return total


def _product(parts: Subscripts, elements: Sequence[Element]) -> Element:
    if any(element.blocked for element in elements):
        return _tile_product(parts, elements)
    dtypes = {element.dtype for element in elements}
    if len(dtypes) == 1:  # products of half precision as well as their sums are kept in single precision
        (dtype,) = dtypes
        elements = [converted(element, sum_dtype(str(dtype))) for element in elements]
    return functools.reduce(functools.partial(apply, "multiply"), elements)


def _tile_product(parts: Subscripts, elements: Sequence[Element]) -> Element:
    """The tile operator for one or two matrices of tiles."""
    matrices = all(len(set(letters)) == len(letters) == 2 for letters in (*parts.operands, parts.result))
    result = parts.result
    if matrices and len(elements) == 1:
        return _oriented(elements[0], parts.operands[0], result)
    if matrices and len(elements) == 2:
        if set(parts.operands[0]) == set(parts.operands[1]) == set(result):
            first, second = (
                _oriented(e, letters, result) for e, letters in zip(elements, parts.operands, strict=True)
            )
            return apply("multiply", first, second)
        if len(parts.summed) == 1:
            rows = 0 if result[0] in parts.operands[0] else 1
            left = _oriented(elements[rows], parts.operands[rows], result[0] + parts.summed)
            right = _oriented(elements[1 - rows], parts.operands[1 - rows], parts.summed + result[1])
            return matmul(left, right)
    raise trace_error(
        "CYC105",
        f"`{','.join(parts.operands)}->{result}` of tiles is no tile operator",
        help="of tiles einsum makes products of two matrices; write other recurrences with loops",
    )


def _oriented(element: Element, letters: str, wanted: str) -> Element:
    return element if letters == wanted else element.T


def _sizes(size: int) -> tuple[int, ...]:
    return (size.scalars, size.tile) if isinstance(size, Extent) else (int(size), 1)


def _text(size: int) -> str:
    if isinstance(size, Extent):
        return f"{size.scalars} elements in tiles of {size.tile}"
    return f"{int(size)} elements"


def _malformed(message: str) -> TraceError:
    return trace_error(
        "CYC123",
        message,
        help='write one letter for each axis of each operand, e.g. `cy.einsum("ik,kj->ij", A, B)`',
    )
