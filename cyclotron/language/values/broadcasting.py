"""Shapes of whole arrays: sizes of axes, which may depend on the indices of loops, and broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from cyclotron.language.values.affine import Affine, Constraint, Index
from cyclotron.language.values.condition import Clipped
from cyclotron.language.values.source_span import shape_error, trace_error
from cyclotron.support.errors import ShapeError, TraceError

Size = int | Affine | Clipped
"""The elements along an axis: a number, a form of the loops around, or what the ends leave of a slice."""
Shape = tuple[Size, ...]


def size(form: Affine) -> Size:
    """A form as a size; no elements where a constant is negative."""
    return form if form.terms else max(form.constant, 0)


def as_form(extent: Size) -> Affine:
    """A size as a form.

    Raises
    ------
    TraceError
        CYC107 if it is none.
    """
    if isinstance(extent, Clipped):
        raise _of_loops("a slice", (extent,))
    return extent if isinstance(extent, Affine) else Affine({}, int(extent))


def inside(place: Affine, extent: Size) -> list[Constraint]:
    """The constraints that a place along an axis is one of its elements'."""
    firsts: tuple[Affine, ...] = (Affine({}, 0),)
    if isinstance(extent, Clipped):
        firsts, ends = extent.firsts, extent.ends
    else:
        ends = (as_form(extent),)
    above = [Constraint(place.plus(first.times(-1))) for first in firsts]
    return above + [Constraint(end.plus(place.times(-1)).plus(Affine({}, -1))) for end in ends]


def box(extents: Sequence[tuple[Index, Size]]) -> tuple[Constraint, ...]:
    """The constraints ``0 <= index < extent``, where extents may depend on other indices."""
    return tuple(one for index, extent in extents for one in inside(Affine({index: 1}, 0), extent))


def same(left: Size, right: Size) -> bool:
    """Return whether two sizes are known to agree."""
    if isinstance(left, Clipped) or isinstance(right, Clipped):
        return isinstance(left, Clipped) and isinstance(right, Clipped) and left.same(right)
    return as_form(left).same(as_form(right))


def is_one(extent: Size) -> bool:
    """Return whether an axis has one element, which broadcasts."""
    return isinstance(extent, int) and extent == 1


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape that arrays of these shapes have together, as NumPy's rules say.

    Raises
    ------
    ShapeError
        CYC122 if two of them do not conform.
    """
    result: Shape = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        a = (*(1,) * (rank - len(result)), *result)
        b = (*(1,) * (rank - len(shape)), *shape)
        for axis, (left, right) in enumerate(zip(a, b, strict=True)):
            if not (is_one(left) or is_one(right) or same(left, right)):
                raise _mismatch(result, shape, axis - rank, left, right)
        result = tuple(right if is_one(left) else left for left, right in zip(a, b, strict=True))
    return result


def check_fits(value: Shape, target: Shape, *, in_place: str | None = None) -> None:
    """Raise `ShapeError` (CYC122) where an array cannot be broadcast to the shape it is assigned to.

    Assignments drop axes of one element at the front; operators `in_place` do not.
    """
    extra = len(value) - len(target)
    if in_place is not None and extra > 0:
        raise shape_error(
            "CYC122",
            f"`{in_place}` has an array of shape {text(value)} for one of shape {text(target)}: {len(value)}"
            f" axes for {len(target)}",
            help="take one element of the axes too many, or sum over them",
        )
    if any(not is_one(extent) for extent in value[: max(extra, 0)]):
        raise shape_error(
            "CYC122",
            f"an array of shape {text(value)} is assigned to one of shape {text(target)}:"
            f" {len(value)} axes to {len(target)}",
            help="take one element of the axes too many, or sum over them",
        )
    own = value[max(extra, 0) :]
    for axis in range(-len(own), 0):
        if not (is_one(own[axis]) or same(own[axis], target[axis])):
            raise _mismatch(target, value, axis, target[axis], own[axis])


def along(index: Sequence[Affine], shape: Shape) -> tuple[Affine, ...]:
    """The index of an operand of a shape where the result has an index: 0 on axes that broadcast."""
    own = index[len(index) - len(shape) :]
    return tuple(Affine({}, 0) if is_one(n) else form for n, form in zip(shape, own, strict=True))


def whole_numbers(shape: Shape, what: str) -> tuple[int, ...]:
    """A shape whose sizes are all numbers.

    Raises
    ------
    TraceError
        CYC107 if one depends on the index of a loop.
    """
    if any(isinstance(extent, Affine | Clipped) for extent in shape):
        raise _of_loops(what, shape)
    return tuple(int(as_form(extent).constant) for extent in shape)


def _of_loops(what: str, shape: Shape) -> TraceError:
    return trace_error(
        "CYC107",
        f"{what} has the shape {text(shape)}, which depends on the index of a loop",
        help="assign it to a slice of an array that is declared before the loop",
    )


def text(shape: Shape) -> str:
    """A shape as NumPy prints it."""
    sizes = [str(extent) for extent in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def _mismatch(first: Shape, second: Shape, axis: int, left: Size, right: Size) -> ShapeError:
    return shape_error(
        "CYC122",
        f"shapes {text(first)} and {text(second)} do not conform: axis {axis} has {left} elements"
        f" in one and {right} in the other",
        help="give both the same size, e.g. by slicing, or one of them the size 1 (`None` in its subscripts)",
    )
