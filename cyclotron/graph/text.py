"""Slices, loops and conditions of a graph as one would write them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cyclotron.graph.nodes import Domain
from cyclotron.language.values.affine import Affine, Index, Region, intersection
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.nodes import Tensor
from cyclotron.language.values.region import extent


def slices(tensor: Tensor, index: Sequence[Affine], domain: Domain) -> str:
    """The slices that subscripts take over a domain, as in ``[0:16, t + 1]``; empty for the whole array."""
    if not index:
        return ""
    inner, regions = _within(domain)
    uses = [term for form in index for term in form.terms if term in inner]
    texts, whole = [], True
    for form, size in zip(index, tensor.shape, strict=True):
        own = [term for term in form.terms if term in inner]
        text = str(form)
        if len(own) == 1 and uses.count(own[0]) == 1:
            ends = _ends(own[0], *regions[own[0]], inner)
            if ends is not None:
                text = _slice(form, own[0], *ends)
        texts.append(text)
        whole = whole and text == f"0:{int(size)}"
    return "" if whole else f"[{', '.join(texts)}]"


def loop_text(loop: Index, regions: Sequence[Region], inner: Collection[Index]) -> str:
    """``for t in range(10)``, of a loop that has statements in some regions."""
    found = [_ends(loop, region, region, inner) for region in regions]
    texts = {None if ends is None else tuple(map(str, ends)) for ends in found}
    ends = found[0] if len(texts) == 1 and found[0] is not None else _hull(loop, regions)
    if ends is None:
        return f"for {loop.name} in range(0)"
    low, high, step = ends
    stop = high.plus(Affine({}, 1))
    bounds = [str(stop)] if step == 1 and str(low) == "0" else [str(low), str(stop)]
    return f"for {loop.name} in range({', '.join([*bounds, *([str(step)] if step > 1 else [])])})"


def condition_text(condition: Condition) -> str:
    """A condition on indices."""
    parts = []
    for conjunction in condition.region:
        texts = []
        for one in conjunction:
            relation = "== 0" if one.equality else f"% {one.modulus} == 0" if one.modulus else ">= 0"
            form = f"({one.form})" if one.modulus else str(one.form)
            texts.append(f"{form} {relation}")
        parts.append(" and ".join(texts) or "True")
    return "if " + (" or ".join(parts) or "False")


def _within(domain: Domain) -> tuple[set[Index], dict[Index, tuple[Region, Region]]]:
    """The indices of a domain and those around it, each with where its bounds are: alone, and with others."""
    if domain.outer is None:
        return set(domain.indices), dict.fromkeys(domain.indices, (domain.region, domain.region))
    indices, regions = _within(domain.outer)
    both = domain.region
    outer: Domain | None = domain.outer
    while outer is not None:
        both, outer = intersection(both, outer.region), outer.outer
    regions |= dict.fromkeys(domain.indices, (domain.region, both))
    return indices | set(domain.indices), regions


def _ends(
    index: Index, region: Region, both: Region, inner: Collection[Index]
) -> tuple[Affine, Affine, int] | None:
    """The first and the last value of an index as forms of the indices that are not `inner`, and the step.

    It has its bounds in `region`; those of the indices around are in `both`, too.
    """
    if len(region) != 1:
        return _hull(index, (both,))
    lows: list[Affine] = []
    highs: list[Affine] = []
    step, rest_of_division = 1, 0
    for one in region[0]:
        factor = one.form.terms.get(index, 0)
        if not factor:
            continue
        rest = one.form.plus(Affine({index: -factor}, 0))
        if (
            abs(factor) > 1
            or any(i in inner for i in rest.terms)
            or (one.modulus and (rest.terms or step > 1))
        ):
            return None
        if one.modulus:
            step, rest_of_division = one.modulus, -factor * rest.constant % one.modulus
            continue
        if factor > 0 or one.equality:
            lows.append(rest.times(-factor))
        if factor < 0 or one.equality:
            highs.append(rest.times(-factor))
    low, high = _one(lows, largest=True), _one(highs, largest=False)
    if low is None or high is None:
        return _hull(index, (both,))
    if step > 1:
        if low.terms or high.terms:
            return None
        low = low.plus(Affine({}, (rest_of_division - low.constant) % step))
        high = high.plus(Affine({}, -((high.constant - rest_of_division) % step)))
    return low, high, step


def _hull(index: Index, regions: Sequence[Region]) -> tuple[Affine, Affine, int] | None:
    """The least and the largest number that an index may be."""
    known = [found for region in regions if (found := extent(region, index)) is not None]
    if not known:
        return None
    return Affine({}, min(low for low, _ in known)), Affine({}, max(high for _, high in known)), 1


def _one(forms: list[Affine], *, largest: bool) -> Affine | None:
    """The form that bounds an index, where that is one of them for all indices around."""
    constants = [form.constant for form in forms if not form.terms]
    others = {str(form): form for form in forms if form.terms}
    if len(others) + bool(constants) != 1:
        return None
    if others:
        return next(iter(others.values()))
    return Affine({}, max(constants) if largest else min(constants))


def _slice(form: Affine, index: Index, low: Affine, high: Affine, step: int) -> str:
    """The values of a form over an index as ``start:stop:step``."""
    factor = form.terms[index] * step
    first, last = (form.substitute({index: end}) for end in (low, high))
    stop = last.plus(Affine({}, 1 if factor > 0 else -1))
    stopped = "" if not stop.terms and stop.constant < 0 else str(stop)
    return f"{first}:{stopped}" if factor == 1 else f"{first}:{stopped}:{factor}"
