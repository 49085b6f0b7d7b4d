"""Accumulations (`C[i, j] += A[i, k] * B[k, j]`) recognised as the reductions they spell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclotron.errors import Span, TraceError
from cyclotron.language.expressions.affine import Affine, Index, Region
from cyclotron.language.expressions.elements import (
    Access,
    Constant,
    Element,
    Increment,
    Reduce,
    add,
    apply,
    rebuild,
)
from cyclotron.language.expressions.regions import indices_of, project, simplify

if TYPE_CHECKING:
    from cyclotron.language.arrays.tensors import SymbolicTensor
    from cyclotron.language.recording.trace import Recorded, Trace

_ONE_LOOP = "write the reduction as `sum(... for k in range(...))`, or accumulate over exactly one loop"


def record(
    trace: Trace, target: SymbolicTensor, index: tuple[Affine, ...], increment: Increment, span: Span
) -> None:
    """Record an accumulation as an equation with a reduction over the loop that the target does not name.

    It is folded into the equation before it where that assigns the same elements (`C[i] = 0`, then the loop);
    else it needs a tensor declared by zeros or full.
    """
    from cyclotron.language.recording.trace import Recorded, accesses

    reduced = _reduced_index(trace, target, index, span)
    loops = tuple(loop for loop in trace.indices() if loop is not reduced)
    initial = _initial_equation(trace, target, index, reduced)
    if initial is None and target.initial is None:
        raise TraceError(
            f"`{target.name}` is accumulated, but its elements have no first value",
            code="CYC113",
            span=span,
            notes=[(target.span, "it is declared here")],
            help="declare it with cy.zeros, or assign the element in the same loops just before",
        )
    outer, inner = _split_region(trace, reduced, span)
    if not outer or not inner:
        return
    term = increment.value
    for access in accesses(term):
        if is_same(access, target, index):
            raise TraceError(
                f"`{access!r}` is accumulated and read in the same statement",
                code="CYC113",
                span=access.span,
                help="every element has one equation; read other elements, or other tensors",
            )
    if reduced is not None:
        term = Reduce("sum", reduced, inner, term, span)
    if initial is not None:
        initial.value = _grow(initial.value, term, increment.negative)
        initial.inside = trace.indices()
        initial.reduced = reduced
        initial.folded = True
        return
    first = Constant(target.initial or 0, target.span)
    value = _grow(first, term, increment.negative)
    trace.equations.append(Recorded(target, index, loops, outer, value, span, trace.indices(), reduced))


def replace(trace: Trace, target: SymbolicTensor, index: tuple[Affine, ...], value: Element) -> bool:
    """Fold `X[i] = X[i] / L[i, i]` into the equation of `X[i]` just before it; False if there is none."""
    last = _initial_equation(trace, target, index, None)
    if last is None:
        return False
    folded = substitute(value, target, index, last.value)
    if folded is value:
        return False
    last.value = folded
    return True


def substitute(value: Element, target: SymbolicTensor, index: tuple[Affine, ...], by: Element) -> Element:
    """Replace the readings of one element in an expression; the same object where there are none."""
    if isinstance(value, Access):
        return by if is_same(value, target, index) else value
    return rebuild(value, [substitute(operand, target, index, by) for operand in value.operands])


def is_same(access: Access, target: SymbolicTensor, index: tuple[Affine, ...]) -> bool:
    """Whether an access reads this very element."""
    return access.tensor is target and all(a.same(b) for a, b in zip(access.index, index, strict=True))


def _reduced_index(
    trace: Trace, target: SymbolicTensor, index: tuple[Affine, ...], span: Span
) -> Index | None:
    named = {term for form in index for term in form.terms}
    missing = [loop for loop in trace.indices() if loop not in named]
    if len(missing) > 1:
        names = ", ".join(f"`{loop.name}`" for loop in missing)
        raise TraceError(
            f"`{target.name}` is accumulated over {len(missing)} loops: {names}",
            code="CYC113",
            span=span,
            help=_ONE_LOOP,
        )
    return missing[0] if missing else None


def _initial_equation(
    trace: Trace, target: SymbolicTensor, index: tuple[Affine, ...], reduced: Index | None
) -> Recorded | None:
    """The equation just before, if it assigns the very elements that are accumulated."""
    outside = []
    for scope in trace.scopes:
        if reduced is not None and scope.index is reduced:
            break
        outside.append(scope)
    loops = tuple(scope.index for scope in outside if scope.index is not None)
    if not trace.equations or len(loops) != len(trace.indices()) - (reduced is not None):
        return None
    last = trace.equations[-1]
    same = (
        last.target is target
        and last.loops == loops
        and last.region == trace.region(outside)
        and all(a.same(b) for a, b in zip(last.index, index, strict=True))
    )
    return last if same else None


def _split_region(trace: Trace, reduced: Index | None, span: Span) -> tuple[Region, Region]:
    """The domain of the elements, and the domain of the reduced index for each of them."""
    region = trace.region()
    if reduced is None:
        return region, region
    position = next(n for n, scope in enumerate(trace.scopes) if scope.index is reduced)
    inner = trace.scopes[position + 1 :]
    if not any(scope.index is not None for scope in inner):
        return trace.region(trace.scopes[:position]), trace.region(trace.scopes[position:])
    outer: Region = ()
    for conjunction in region:
        projected = project(conjunction, reduced)
        if projected is None:
            raise TraceError(
                f"the range of `{reduced.name}` depends on other indices in a way that is too difficult here",
                code="CYC113",
                span=span,
                help=f"make the loop over `{reduced.name}` the innermost one",
            )
        outer += (projected,)
    if reduced not in indices_of(region):
        return region, region
    if len(region) == 1:  # what does not concern the reduced index, the elements' domain says already
        region = (tuple(constraint for constraint in region[0] if reduced in constraint.form.terms),)
    return simplify(outer), region


def _grow(first: Element, term: Element, negative: bool) -> Element:
    if negative:
        if isinstance(first, Constant) and first.value == 0:
            return apply("negative", term)
        return apply("subtract", first, term)
    return add(first, term)
