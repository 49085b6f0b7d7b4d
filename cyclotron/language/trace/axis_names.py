"""The names of the indices of whole-array statements, which have no loops in the text.

The rule: an axis of an array that a loop of the kernel subscripts elsewhere (`U[t + 1, 1:-1]`) is called like
that loop. The other axes that are sliced are called i, j, k, l, ... in their order, without the names of the
kernel's loops; axes that only numbers subscript have no name. Indices that are folded are called like the
axis that they run along, or take the letters after those of the statement: `C = A @ B` runs over i and j and
sums over k.

Without loops in the text, names follow the data: an index that runs along an axis of a computed array is
called like that axis, unless another index of the statement is. `y = A @ x; z = B @ y` is `y[i]`, summed over
j, and `z[j]`, summed over i: what is made along a line of PEs is used along it.

An axis of one element that a reduction leaves has no name: `m = x.sum(axis=1, keepdims=True)` is `m[i, 0]`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from cyclotron.language.trace.statement import Statement
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine, Index
from cyclotron.language.values.nodes import (
    Access,
    AxisIndex,
    Element,
    FoldIndex,
    Reduce,
    Tensor,
    accesses,
    substitute_indices,
    walk,
)
from cyclotron.language.values.region import substitute

LETTERS = "ijklmnpqrs"


def name_axes(trace: Trace) -> None:
    """Name all indices of whole-array statements of a finished recording."""
    if not any(isinstance(loop, AxisIndex) for s in trace.statements for loop in s.loops) and not any(
        isinstance(index, FoldIndex) for s in trace.statements for index in _reduced(s.value)
    ):
        return
    if any(_is_written(i) for s in trace.statements for i in (*s.loops, *_reduced(s.value))):
        axes = _axis_names(trace)
        folds = _fold_names(trace, axes)
    else:
        axes, folds = _followed(trace)
    for statement in (*trace.statements, *trace.equations):
        if _reduced(statement.value):
            _leave_out_single(statement)
    for statement in trace.statements:
        taken = {index.name for index in (*statement.loops, *_reduced(statement.value)) if _is_written(index)}
        for loop in statement.loops:
            if isinstance(loop, AxisIndex):
                wanted = axes[loop.tensor][loop.axis]
                loop.name = wanted if wanted not in taken else _free(taken)
                taken.add(loop.name)
        reduced = [index for index in _reduced(statement.value) if isinstance(index, FoldIndex)]
        for index in reduced:
            index.name = folds.get(index, "") if folds.get(index) not in taken else ""
            taken.add(index.name)
        for index in reduced:
            index.name = index.name or _free(taken)
            taken.add(index.name)


def _is_single(index: Index) -> bool:
    return isinstance(index, AxisIndex) and index.tensor.shape[index.axis] == 1


def _leave_out_single(statement: Statement) -> None:
    """Take indices of the axes of one element that reductions leave as the number that they are."""
    single = {
        index: Affine({}, -form.constant // form.terms[index])  # the subscript is 0
        for index in statement.loops
        for d, form in enumerate(statement.index)
        if _is_single(index) and [*form.terms] == [index] and _is_left(statement, d)
    }
    if single:
        inside = [True, *(index not in single for index in statement.loops)]
        statement.text = tuple(itertools.compress(statement.text, inside))
        statement.loops = tuple(index for index in statement.loops if index not in single)
        statement.inside = tuple(index for index in statement.inside if index not in single)
        statement.index = tuple(form.substitute(single) for form in statement.index)
        statement.region = substitute(statement.region, single)
        statement.value = substitute_indices(statement.value, single)


def _is_left(statement: Statement, axis: int) -> bool:
    """Return whether a reduction with as many axes runs along this one, from the last, of all it reads."""
    axes = len(statement.index)
    for part in walk(statement.value):
        if isinstance(part, Reduce):
            read = [access.index for access in accesses(part)]
            along = {d - len(i) for i in read for d, form in enumerate(i) if part.index in form.terms}
            if along == {axis - axes} and max(map(len, read)) == axes:
                return True
    return False


def _followed(trace: Trace) -> tuple[dict[Tensor, list[str]], dict[Index, str]]:
    """Names for the axes of assigned tensors and for folded indices: the data's, or the next letters."""
    sliced: dict[Tensor, set[int]] = {}
    for statement in trace.statements:
        for tensor, d, form in _subscripts(statement):
            if any(isinstance(index, AxisIndex) for index in form.terms):
                sliced.setdefault(tensor, set()).add(d)
    axes: dict[Tensor, list[str]] = {}
    folds: dict[Index, str] = {}
    for statement in trace.statements:
        wanted: dict[Index, str] = {}
        for access in accesses(statement.value):
            for name, form in zip(axes.get(access.tensor, ()), access.index, strict=False):
                if len(form.terms) == 1 and name:
                    wanted.setdefault(next(iter(form.terms)), name)
        target = statement.target
        names = axes.setdefault(target, [""] * target.ndim)
        new = [loop for loop in statement.loops if isinstance(loop, AxisIndex) and not names[loop.axis]]
        for loop in new:
            if wanted.get(loop) not in names:
                names[loop.axis] = wanted.get(loop, "")
        used = set(names)
        for index in _reduced(statement.value):
            if index in wanted and wanted[index] not in used:
                folds[index] = wanted[index]
                used.add(wanted[index])
        letters = iter(_letters(used))
        for d in sorted(sliced.get(target, ())):
            names[d] = names[d] or next(letters)
    return axes, folds


def _axis_names(trace: Trace) -> dict[Tensor, list[str]]:
    """A name for each axis of each tensor."""
    loops: set[str] = set()
    named: dict[tuple[Tensor, int], str] = {}
    sliced: set[tuple[Tensor, int]] = set()
    for statement in trace.statements:
        loops |= {i.name for i in (*statement.loops, *_reduced(statement.value)) if _is_written(i)}
        for tensor, d, form in _subscripts(statement):
            for index in form.terms:
                if isinstance(index, AxisIndex):
                    sliced.add((tensor, d))
                elif _is_written(index) and len(form.terms) == 1:
                    named.setdefault((tensor, d), index.name)
    result = {}
    for tensor in trace.tensors:
        letters = iter(_letters(loops))
        names = []
        for d in range(tensor.ndim):
            own = named.get((tensor, d))
            names.append(own or (next(letters) if (tensor, d) in sliced else ""))
        result[tensor] = names
    return result


def _fold_names(trace: Trace, axes: dict[Tensor, list[str]]) -> dict[Index, str]:
    """For folded indices the name of the first named axis that they run along."""
    folds: dict[Index, str] = {}
    for statement in trace.statements:
        for access in accesses(statement.value):
            for name, form in zip(axes[access.tensor], access.index, strict=True):
                for index in form.terms if name and len(form.terms) == 1 else ():
                    if isinstance(index, FoldIndex):
                        folds.setdefault(index, name)
    return folds


def _subscripts(statement: Statement) -> Iterator[tuple[Tensor, int, Affine]]:
    target = Access(statement.target, statement.index, statement.span)
    for access in (target, *accesses(statement.value)):
        for d, form in enumerate(access.index):
            yield access.tensor, d, form


def _reduced(value: Element) -> list[Index]:
    """The indices of the reductions of an expression, outermost first."""
    return [part.index for part in walk(value) if isinstance(part, Reduce)]


def _is_written(index: Index) -> bool:
    """Return whether the index stands in the kernel's text."""
    return not isinstance(index, (AxisIndex, FoldIndex))


def _letters(taken: Iterable[str]) -> Iterator[str]:
    """Names in alphabetical order that are free."""
    taken = set(taken)
    yield from (letter for letter in LETTERS if letter not in taken)
    number = 1
    while True:
        if f"i{number}" not in taken:
            yield f"i{number}"
        number += 1


def _free(taken: Iterable[str]) -> str:
    return next(_letters(taken))
