"""Accumulations (`C[i, j] += A[i, k] * B[k, j]`) recognised as the reductions they spell."""

from __future__ import annotations

from collections.abc import Sequence

from cyclotron.language.trace.statement import Scope, Statement, indices_of, region_of
from cyclotron.language.values.affine import Affine, Index, Region
from cyclotron.language.values.nodes import (
    Access,
    Constant,
    Element,
    Increment,
    Reduce,
    Tensor,
    accesses,
    onward,
    rebuild,
    transform,
)
from cyclotron.language.values.operations import add, apply
from cyclotron.language.values.region import indices_of as indices_in
from cyclotron.language.values.region import project
from cyclotron.support.dtypes import is_whole
from cyclotron.support.errors import Span, TraceError

_ONE_LOOP = "write the reduction as `sum(... for k in range(...))`, or accumulate over exactly one loop"


def record(
    equations: list[Statement],
    scopes: Sequence[Scope],
    target: Tensor,
    index: tuple[Affine, ...],
    increment: Increment,
    span: Span,
) -> None:
    """Record an accumulation as an equation with a reduction over the loop that the target does not name.

    It is folded into the equation before it where that assigns the same elements (`C[i] = 0`, then the loop);
    else it needs a tensor declared by zeros or full.
    """
    reduced = _reduced_index(scopes, target, index, span)
    loops = tuple(loop for loop in indices_of(scopes) if loop is not reduced)
    initial = _initial_equation(equations, scopes, target, index, reduced)
    if initial is None and target.initial is None:
        raise TraceError(
            f"`{target.name}` is accumulated, but its elements have no first value",
            code="CYC113",
            span=span,
            notes=[(target.span, "it is declared here")],
            help="declare it with cy.zeros, or assign the element in the same loops just before",
        )
    outer, inner = _split_region(scopes, reduced, span)
    if not outer or not inner:
        return
    term = increment.value
    for access in accesses(term):
        if access.names(target, index):
            raise TraceError(
                f"`{access!r}` is accumulated and read in the same statement",
                code="CYC113",
                span=access.span,
                help="every element has one equation; read other elements, or other tensors",
            )
    in_order = increment.is_loop or reduced is not None
    if reduced is not None:
        term = Reduce("sum", reduced, inner, term, span)
    if initial is not None:
        rounds = target.tile is None and not is_whole(target.dtype_name)
        if reduced is not None and initial.reduced is reduced and rounds:
            raise TraceError(
                f"`{target.name}` is accumulated twice in the loop over `{reduced.name}`",
                code="CYC113",
                span=span,
                notes=[(initial.span, "it is accumulated here")],
                help="add both in one statement, or in loops of their own",
            )
        initial.value = _grow(initial.value, term, increment.negative, in_order)
        initial.inside = indices_of(scopes)
        initial.reduced = reduced
        initial.folded = True
        return
    first = Constant(target.start, target.span)
    value = _grow(first, term, increment.negative, in_order)
    equations.append(Statement(target, index, loops, outer, value, span, indices_of(scopes), reduced))


def replace(
    equations: list[Statement],
    scopes: Sequence[Scope],
    target: Tensor,
    index: tuple[Affine, ...],
    value: Element,
) -> bool:
    """Fold `X[i] = X[i] / L[i, i]` into the equation of `X[i]` just before it; False if there is none."""
    last = _initial_equation(equations, scopes, target, index, None)
    if last is None:
        return False
    folded = substitute(value, target, index, last.value)
    if folded is value:
        return False
    last.value = folded
    return True


def substitute(value: Element, target: Tensor, index: tuple[Affine, ...], by: Element) -> Element:
    """Replace the readings of one element in an expression; the same object where there are none."""

    def changed(part: Element, operands: list[Element]) -> Element:
        if isinstance(part, Access) and part.names(target, index):
            return by
        return rebuild(part, operands)

    return transform(value, changed)


def _reduced_index(
    scopes: Sequence[Scope], target: Tensor, index: tuple[Affine, ...], span: Span
) -> Index | None:
    named = {term for form in index for term in form.terms}
    missing = [loop for loop in indices_of(scopes) if loop not in named]
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
    equations: list[Statement],
    scopes: Sequence[Scope],
    target: Tensor,
    index: tuple[Affine, ...],
    reduced: Index | None,
) -> Statement | None:
    """The equation just before, if it assigns the very elements that are accumulated."""
    outside = []
    for scope in scopes:
        if reduced is not None and scope.index is reduced:
            break
        outside.append(scope)
    loops = tuple(scope.index for scope in outside if scope.index is not None)
    if not equations or len(loops) != len(indices_of(scopes)) - (reduced is not None):
        return None
    last = equations[-1]
    same = (
        last.target is target
        and last.loops == loops
        and last.region == region_of(outside)
        and all(a.same(b) for a, b in zip(last.index, index, strict=True))
    )
    return last if same else None


def _split_region(scopes: Sequence[Scope], reduced: Index | None, span: Span) -> tuple[Region, Region]:
    """The domain of the elements, and the domain of the reduced index for each of them."""
    region = region_of(scopes)
    if reduced is None:
        return region, region
    position = next(n for n, scope in enumerate(scopes) if scope.index is reduced)
    inner = scopes[position + 1 :]
    if not any(scope.index is not None for scope in inner):
        return region_of(scopes[:position]), region_of(scopes[position:])
    outer = project(region, reduced)
    if outer is None:
        raise TraceError(
            f"the range of `{reduced.name}` depends on other indices in a way that is too difficult here",
            code="CYC113",
            span=span,
            help=f"make the loop over `{reduced.name}` the innermost one",
        )
    if reduced not in indices_in(region):
        return region, region
    if len(region) == 1:  # what does not concern the reduced index, the elements' domain says already
        region = (tuple(constraint for constraint in region[0] if reduced in constraint.form.terms),)
    return outer, region


def _grow(first: Element, term: Element, negative: bool, in_order: bool) -> Element:
    result = apply("subtract", first, term) if negative else add(first, term, starts=in_order)
    return onward(result) if in_order else result
