"""Expressions for one element: what `A[i, k]` and the operators on it are while a kernel is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine, Index, Region
from cyclotron.language.values.blocked import extents
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.context import Recorder
from cyclotron.language.values.dispatch import Arithmetic, whole
from cyclotron.language.values.operators import evaluate, result_dtype
from cyclotron.language.values.refusals import DATA_HELP, not_an_operator, refuse_rounding, refusing
from cyclotron.language.values.scalar_type import DTypeName, ScalarType, dtype_name, literal
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.support.errors import Span, TraceError


class Tensor:
    """The name, dtype and shape of an input of a kernel or of a tensor declared in it.

    Parameters
    ----------
    owner : Recorder
        The recording that the tensor belongs to.
    name : str
        The name in the system of equations, where each has one of its own: `unique_name`.
    dtype : str
        NumPy's name of the dtype.
    scalars : tuple of int
        Scalars along each axis.
    tile : tuple of int or None
        Scalars per tile along each axis; None where elements are scalars.
    is_input : bool
        Whether it is an argument.
    fill : complex or None
        The value of elements without equation; None where all need one.
    span : Span
        The declaration.
    variable : str
        The name in the kernel's text, or words where it has none: `name`; by default the other one.
    """

    def __init__(
        self,
        owner: Recorder,
        name: str,
        dtype: str,
        scalars: tuple[int, ...],
        tile: tuple[int, ...] | None,
        *,
        is_input: bool,
        fill: complex | None,
        span: Span,
        variable: str = "",
    ) -> None:
        self.owner = owner
        self.unique_name = name
        self.name = variable or name
        self.dtype_name = dtype
        self.adopts_dtype = False  # that of the inputs, since it is declared without one
        self.fixed = ""  # what it is, if nobody can write it
        self.searched_in: dict[int, set[Index]] = {}  # loops that take elements where data tell, by axis
        self.scalars = scalars
        self.tile = tile
        self.is_input = is_input
        self.initial = fill
        self.span = span
        self.origin = (0,) * len(scalars)  # where element 0 lies among the indices of whole-array statements
        self.complete = False  # whether its first statement assigns all elements
        self.assigned = 0  # the number of the last statement that assigns it, from 1
        self.values: NDArray[Any] | None = None  # of an array of the host, when it was read

    @property
    def blocked(self) -> bool:
        """Return whether elements are tiles."""
        return self.tile is not None

    @property
    def start(self) -> complex:
        """The first summand of what is accumulated; of zeros the sign counts, in arrays that keep theirs."""
        return 0 if self.initial is None else self.initial

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return extents(self.scalars, self.tile)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.scalars)

    def beside(self, name: str, **changes: Any) -> Tensor:
        """A tensor that the program computes, like this one but for its name and what changes."""
        own: dict[str, Any] = {
            "owner": self.owner,
            "dtype": self.dtype_name,
            "scalars": self.scalars,
            "tile": self.tile,
        }
        own |= {"span": self.span, "variable": self.name, **changes}
        return Tensor(name=name, is_input=False, fill=None, **own)

    def example(self) -> str:
        """An access as one would write it, for messages."""
        return f"{self.name}[{', '.join('ijkl'[: self.ndim]) if self.ndim <= 4 else '...'}]"

    def read(self, index: Sequence[Affine], span: Span) -> Access:
        """An element as the kernel reads it now."""
        return Access(self, tuple(index), span, len(self.owner.statements), self.owner.indices())


class AxisIndex(Index):
    """The index of a whole-array statement: positions along an axis of the array that it assigns."""

    __slots__ = ("axis", "tensor")

    def __init__(self, tensor: Tensor, axis: int, span: Span) -> None:
        super().__init__(f"axis{axis}", span)
        self.tensor = tensor
        self.axis = axis


class FoldIndex(Index):
    """The index over which a whole-array statement reduces."""

    __slots__ = ()


class SearchIndex(FoldIndex):
    """The index over which a statement looks for the element at a place that data tell."""

    __slots__ = ()


class Element(Arithmetic):
    """An expression for one element (a scalar or a tile) of a tensor; operators build larger ones."""

    span: Span
    type: ScalarType
    text = ""  # how a number that indices make is written, as far as that is short
    counts = False  # whether it is a truth value as a whole number, because Python's sums count it
    of_changed: Callable[[Callable[[Element], Element]], Element] | None = None  # a choice, of other values
    operands: tuple[Element, ...] = ()  # the expressions that it is made of
    blocked = False  # whether it is a tile
    is_conditional = False  # whether it has a choice by a condition on indices in it

    @property
    def dtype(self) -> DTypeName:
        """NumPy's name of the dtype in which it is computed."""
        return dtype_name(self.type.dtype)

    __hash__ = refusing(
        "CYC105",
        "a dict or a set has to find a number that is known only when the program runs",
        "write the cases, `a if x == 1 else b`, or take an array of the host, `table[k]`",
    )

    def conj(self) -> Element:
        """The complex conjugate; of NumPy's truth values these themselves, as `.conj()` of arrays."""
        result: Element = self if self.dtype == "bool" and not self.type.weak else self.operate("conj", self)
        return result

    conjugate = conj

    @property
    def is_index(self) -> bool:
        """Return whether it is a number of Python's that indices make."""
        return self.type.weak and not isinstance(self, Constant) and not accesses(self)

    @property
    def T(self) -> Element:  # noqa: N802 (NumPy's name)
        """The transposed tile."""
        if not self.blocked:
            return self
        if isinstance(self, Apply) and self.op == "transpose":
            return self.operands[0]
        return Apply("transpose", (self,), here())

    def __pos__(self) -> Any:
        return self.operate("positive", self)

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this element is one."""
        return dispatch.call("operate_on_elements", op, *values)

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Element:
        """The values in another dtype; `copy` means nothing."""
        result: Element = dispatch.call("cast", self, dtype)
        return result

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Element:
        """The sum of each row (``axis=-1, keepdims=True``) or column (``axis=0``) of a tile."""
        return _fold("sum", self, axis, keepdims)

    def max(self, axis: int | None = None, keepdims: bool = False) -> Element:
        """The maximum of each row (``axis=-1, keepdims=True``) or column (``axis=0``) of a tile."""
        return _fold("max", self, axis, keepdims)

    def min(self, axis: int | None = None, keepdims: bool = False) -> Element:
        """The minimum of each row (``axis=-1, keepdims=True``) or column (``axis=0``) of a tile."""
        return _fold("min", self, axis, keepdims)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Element:
        known = dispatch.call("ufunc", ufunc)
        if known is None or method != "__call__" or options:
            raise not_an_operator(f"`np.{ufunc.__name__}`")
        result: Element = known(*inputs)
        return result

    def __array_function__(
        self, function: Callable[..., Any], _types: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        first = args[0] if args else None
        if function is np.linalg.cholesky and len(args) == 1 and not kwargs:
            return dispatch.apply("cholesky", first)
        if function is np.transpose and len(args) == 1 and not kwargs and isinstance(first, Element):
            return first.T
        if function in (np.sum, np.max, np.min) and len(args) == 1 and isinstance(first, Element):
            return _fold(function.__name__.removeprefix("a"), first, **kwargs)
        if function is np.copy and len(args) == 1:
            return dispatch.apply("copy", first)
        if not dispatch.call("is_elementwise", function):
            raise not_an_operator(f"`np.{function.__name__}`")
        return dispatch.call("call_of_numpy", function, args, kwargs)

    # Operators and conversions of Python that elements do not have.

    def _data_dependent(self, *_: object) -> NoReturn:
        raise TraceError(
            "a condition depends on the data of a tensor", code="CYC104", span=self.span, help=DATA_HELP
        )

    __bool__ = _data_dependent

    __getitem__ = refusing(
        "CYC108",
        "an element of a tensor is subscripted again",
        "give all subscripts at once, e.g. `A[i, k]`; a tile is used as a whole",
    )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_an_operator(f"`.{name}`")

    def __float__(self) -> float:
        raise not_an_operator("a function of Python numbers")

    __complex__ = __float__

    __round__ = refuse_rounding("Python's `round`", "write `cy.round` of it")
    __floor__ = whole("floor")
    __ceil__ = whole("ceil")
    __trunc__ = refuse_rounding("`math.trunc`", "write `int(x[i])`, or divide by `//`")

    __int__ = refusing(
        "CYC105",
        "a number is made of an element, whose value is known only when the program runs",
        "sizes, bounds and shapes are those of arguments, or host values that are passed; data are"
        ' converted by `.astype("int64")`',
    )

    def __iter__(self) -> Iterator[Any]:
        raise not_an_operator("iteration")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise not_an_operator("conversion to an array", "make an array of elements by `cy.array([x, y])`")


class Constant(Element):
    """A number, by default of the type that it has on the host; it adopts the dtype of its neighbours."""

    def __init__(self, value: complex, span: Span, type: ScalarType | None = None) -> None:
        known = literal(value)
        assert known is not None
        self.value = value
        self.span = span
        self.type = type or known[1]


@dataclass(frozen=True, eq=False, repr=False)
class Access(Element):
    """One element of a tensor at affine subscripts.

    Where the kernel reads it, `made` statements had been recorded, with `loops` open; `made` is None
    for what the recording reads by itself.
    """

    tensor: Tensor
    index: tuple[Affine, ...]
    span: Span
    made: int | None = None
    loops: tuple[Index, ...] = ()
    weak: bool = False  # whether Python made a number of its own of it

    @property
    def type(self) -> ScalarType:  # type: ignore[override]
        return ScalarType(self.tensor.dtype_name, self.weak)

    @property
    def blocked(self) -> bool:  # type: ignore[override]
        return self.tensor.blocked

    def accumulated(self, value: object, *, negative: bool, is_loop: bool = False) -> Increment:
        """The element less or plus a value: an accumulation where it is assigned."""
        return Increment(self, dispatch.call("element", value), negative, is_loop)

    def __repr__(self) -> str:
        return f"{self.tensor.name}[{', '.join(map(str, self.index))}]"

    def names(self, tensor: Tensor, index: Sequence[Affine]) -> bool:
        """Return whether it is the element of a tensor at an index."""
        return self.tensor is tensor and all(a.same(b) for a, b in zip(self.index, index, strict=True))


class Compound(Element):
    """An expression made of others; what it inherits from them is found once, as they may be shared."""

    def __init__(self, operands: Sequence[Element], span: Span, type: ScalarType) -> None:
        self.operands = tuple(operands)
        self.span = span
        self.type = type
        self.blocked = any(operand.blocked for operand in self.operands)
        self.is_conditional = any(operand.is_conditional for operand in self.operands)


class Apply(Compound):
    """An operator of the registry applied to elements; by default what it gives of operands of one dtype."""

    def __init__(
        self,
        op: str,
        operands: Sequence[Element],
        span: Span,
        flags: Sequence[str] = (),
        type: ScalarType | None = None,
    ) -> None:
        super().__init__(operands, span, type or ScalarType(result_dtype(op, _common(op, operands))))
        self.op = op
        self.flags = tuple(flags)


class Reduce(Compound):
    """A fold of `body` over the values of `index` in `region`."""

    def __init__(
        self,
        kind: str,
        index: Index,
        region: Region,
        body: Element,
        span: Span,
        type: ScalarType | None = None,
    ) -> None:
        super().__init__((body,), span, type or ScalarType(body.dtype, body.type.weak))
        self.kind = kind
        self.index = index
        self.region = region
        self.body = body


class Choose(Compound):
    """`then` where the condition on indices holds, else `other`; split into two equations when assigned."""

    def __init__(
        self, condition: Condition, then: Element, other: Element, span: Span, type: ScalarType | None = None
    ) -> None:
        super().__init__((then, other), span, type or (other if then.type.weak else then).type)
        self.condition = condition
        self.then = then
        self.other = other
        self.is_conditional = True


@dataclass(frozen=True)
class Increment:
    """The value of an augmented assignment: `target` grows or shrinks by `value`."""

    target: Access
    value: Element
    negative: bool
    is_loop: bool = False  # the value is the sum of what a loop adds one by one

    def element(self) -> Element:
        """The new value."""
        result: Element = dispatch.apply("subtract" if self.negative else "add", self.target, self.value)
        return onward(result) if self.is_loop else result


class IndexValue(Element):
    """The value of an affine form of indices, as a number of a type."""

    def __init__(self, form: Affine, type: ScalarType, span: Span) -> None:
        self.form = form
        self.span = span
        self.type = type


def retyped(value: Element, type: ScalarType) -> Element:
    """The same value under another type of its dtype."""
    if value.type == type:
        return value
    if isinstance(value, Access):
        return replace(value, weak=type.weak)
    result = copy(value)
    result.type = type
    return result


def onward(value: Element) -> Element:
    """A value plus or less a sum, whose terms are added one by one: in another order they round otherwise."""
    if not isinstance(value, Apply) or value.op not in ("add", "subtract") or value.type.kind not in "fc":
        return value
    first, total = value.operands
    if not isinstance(total, Reduce) or (isinstance(first, Constant) and first.value == 0):
        return value
    return Apply(value.op, value.operands, value.span, ("onward",), value.type)


def rebuild(value: Element, operands: Sequence[Element]) -> Element:
    """The same operator, reduction or choice on other operands; the same object where they are the same."""
    if all(new is old for new, old in zip(operands, value.operands, strict=True)):
        return value
    if isinstance(value, Reduce):
        return Reduce(value.kind, value.index, value.region, operands[0], value.span, value.type)
    if isinstance(value, Choose):
        return Choose(value.condition, operands[0], operands[1], value.span, value.type)
    assert isinstance(value, Apply)
    return applied(value.op, operands, value.span, value.flags, value.type)


def applied(
    op: str, operands: Sequence[Element], span: Span, flags: Sequence[str], type: ScalarType
) -> Element:
    """An operator on operands; on constants its value."""
    constants = [operand.value for operand in operands if isinstance(operand, Constant)]
    if len(constants) == len(operands):
        weak = all(operand.type.weak for operand in operands[int(op == "where") :])
        return Constant(evaluate(op, constants, None if weak else _common(op, operands)), span, type)
    return Apply(op, operands, span, flags, type)


def walk(value: Element) -> Iterator[Element]:
    """Yield an expression and all that it is made of, from left to right, each object once."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            pending.extend(reversed(part.operands))


def accesses(value: Element) -> list[Access]:
    """All accesses of an expression, each object once."""
    return [part for part in walk(value) if isinstance(part, Access)]


def _common(op: str, operands: Sequence[Element]) -> str:
    """The dtype of operands that agree: that of those that are no numbers of Python."""
    values = operands[int(op == "where") :]
    return next((value for value in values if not value.type.weak), values[0]).dtype


def strip_transpose(value: Element) -> tuple[Element, bool]:
    """Split a transposed element into its operand and True."""
    if isinstance(value, Apply) and value.op == "transpose":
        return value.operands[0], True
    return value, False


def same_value(one: Element, other: Element) -> bool:
    """Return whether two expressions are the same by their text."""
    pairs, seen = [(one, other)], set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if isinstance(a, Access) and isinstance(b, Access):
            if a.tensor is not b.tensor or not all(x.same(y) for x, y in zip(a.index, b.index, strict=True)):
                return False
        elif isinstance(a, IndexValue) and isinstance(b, IndexValue):
            if a.dtype != b.dtype or not a.form.same(b.form):
                return False
        elif isinstance(a, Constant) and isinstance(b, Constant):
            if a.value != b.value:
                return False
        elif isinstance(a, Apply) and isinstance(b, Apply) and (a.op, a.flags) == (b.op, b.flags):
            pairs += zip(a.operands, b.operands, strict=True)
        else:
            return False
    return True


def substitute_indices(value: Element, values: dict[Index, Affine]) -> Element:
    """Replace indices by affine forms in an expression; what is shared stays shared."""
    return map_forms(value, lambda form: form.substitute(values))


def transform(value: Element, change: Callable[[Element, list[Element]], Element]) -> Element:
    """Rebuild an expression by what makes a part of a part and its new operands; the shared stay shared."""
    known: dict[int, tuple[Element, Element]] = {}  # with the original, so that its id stays its

    def of(part: Element) -> Element:
        if id(part) not in known:
            known[id(part)] = (part, change(part, [of(operand) for operand in part.operands]))
        return known[id(part)][1]

    return of(value)


def map_forms(value: Element, change: Callable[[Affine], Affine]) -> Element:
    """Replace every form in an expression; what is shared stays shared."""

    def region_of(region: Region) -> Region:
        return tuple(tuple(replace(c, form=change(c.form)) for c in part) for part in region)

    def changed(part: Element, operands: list[Element]) -> Element:
        if isinstance(part, IndexValue):
            return IndexValue(change(part.form), part.type, part.span)
        if isinstance(part, Access):
            return replace(part, index=tuple(change(form) for form in part.index))
        if isinstance(part, Reduce):
            return Reduce(part.kind, part.index, region_of(part.region), operands[0], part.span, part.type)
        if isinstance(part, Choose):
            known = part.condition.complement
            complement = None if known is None else region_of(known)
            test = Condition(region_of(part.condition.region), complement)
            return Choose(test, operands[0], operands[1], part.span, part.type)
        return rebuild(part, operands)

    return transform(value, changed)


def _fold(kind: str, value: Element, axis: int | None = None, keepdims: bool = False) -> Element:
    if axis not in (-1, 1, 0) or not keepdims:
        raise trace_error(
            "CYC105",
            f"`{kind}` of a tile is supported over rows and columns only",
            help="write `axis=-1, keepdims=True`, or `axis=0, keepdims=True`",
        )
    if not value.blocked:
        return value
    result: Element = dispatch.apply(f"{'row' if axis else 'column'}_{kind}", value)
    return result


def forms_of(value: Element) -> list[Affine]:
    """All forms of an expression."""
    found: list[Affine] = []

    def note(form: Affine) -> Affine:
        found.append(form)
        return form

    map_forms(value, note)
    return found
