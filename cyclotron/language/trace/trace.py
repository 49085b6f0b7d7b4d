"""The recording of one run of the intermediate language: tensors, loops and equations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.language.trace import accumulate, assign
from cyclotron.language.trace.statement import Scope, Statement, indices_of, region_of, scoped, unused
from cyclotron.language.trace.storage import Binding, Sources
from cyclotron.language.values.affine import EVERYWHERE, Affine, Index, Region, intersection
from cyclotron.language.values.array import SymbolicArray, View
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.context import ACTIVE, active_recorder
from cyclotron.language.values.guarded import while_running
from cyclotron.language.values.host_arrays import assigned
from cyclotron.language.values.nodes import (
    Access,
    Choose,
    Constant,
    Element,
    Increment,
    IndexValue,
    Reduce,
    Tensor,
    accesses,
)
from cyclotron.language.values.operations import apply, element
from cyclotron.language.values.operators import DTYPES, USUAL_DTYPES
from cyclotron.language.values.scalar_type import ScalarType
from cyclotron.language.values.scalars import check_adopted, check_dtypes, converted, stored
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.dtypes import ADDED, advice, is_whole
from cyclotron.support.errors import NO_SPAN, ShapeError, Span, TraceError

Place = tuple[Span, str, int]
MOST_REPEATS = 2_500
_MOST_SCALARS = 2**62  # of an axis: where the core's arithmetic on sizes ends


@dataclass
class Trace:
    """The recording of a kernel that runs on symbolic tensors.

    Attributes
    ----------
    kernel : str
        The name of the kernel.
    statements : list of Statement
        All assignments as Python runs them, with `text` set.
    equations : list of Statement
        The recurrences that they spell, unless `refusal` says why they spell none.
    bindings : list of Binding
        Where the arrays of names get what other arrays hold.
    reached_bounds : list of Tensor
        For each `while` whether it was left at its most steps; they become outputs.
    prints : list of Tensor
        What is printed of data; they become outputs too.
    flags : dict of Index to Tensor
        For each loop that may end early the flag that says whether it still runs.
    calls : list of str
        The kernels that the one that is recorded is calling, each the one after it.
    repeats : int
        How many iterations over values of the host, and calls of kernels, have recorded their statements.
    host_steps : int
        How many iterations of loops Python has run in blocks of the host.
    entered : int
        How many scopes were open when the innermost of them was called.
    blocks : int
        How many `with cy.fuse():` there were.
    constants : dict of tuple to SymbolicTensor
        The tensors of arrays of the host, by name, dtype, shape, tile and values.
    assumed : list of callable
        What gives the regions where the branches of choices, of which one is recorded, are taken.
    types_after, types_found : dict of tuple to tuple of ScalarType
        The types of numbers that loops carry, by place and name, after first iterations that change them:
        those known from recordings before this one, and those found in it.
    mixed : set of str
        The dtypes that operators have mixed, in recordings before this one too.
    divided : set of Tensor
        What numbers of Python's are computed of that divide others, or are divided, perhaps by 0.
    nonzero : set of Tensor
        Scalars that loops carry which begin with a number of Python's that is not 0.
    settled, settling : set of tuple
        The places of Python's numbers that an iteration makes NumPy's of the same dtype, which shows nowhere
        else: they are so from the start. Those known from recordings before this one, and found in it.
    as_numpys : set of str
        The kinds of those that are taken for NumPy's in this recording.
    carried : Counter of tuple
        How often each loop of the text has carried each of its numbers so far.
    once : set of Index
        The indices of first iterations that are recorded apart.
    open_terms : int
        Number of reductions whose terms are being recorded.
    open_parts : int
        Number of those terms, and of values of conditional expressions, that are being recorded.
    """

    kernel: str
    tensors: list[Tensor] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    equations: list[Statement] = field(default_factory=list)
    refusal: TraceError | None = None
    outputs: dict[str, Tensor] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)
    reached_bounds: list[Tensor] = field(default_factory=list)
    prints: list[Tensor] = field(default_factory=list)
    flags: dict[Index, Tensor] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    repeats: int = 0
    host_steps: int = 0
    entered: int = 0
    blocks: int = 0
    constants: dict[tuple[Any, ...], SymbolicTensor] = field(default_factory=dict)
    scopes: list[Scope] = field(default_factory=lambda: [Scope(None, EVERYWHERE)])
    assumed: list[Callable[[], Region]] = field(default_factory=list)
    types_after: dict[Place, tuple[ScalarType, ...]] = field(default_factory=dict)
    types_found: dict[Place, tuple[ScalarType, ...]] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)
    divided: set[Tensor] = field(default_factory=set)
    nonzero: set[Tensor] = field(default_factory=set)
    settled: set[Place] = field(default_factory=set)
    settling: set[Place] = field(default_factory=set)
    as_numpys: set[str] = field(default_factory=set)
    carried: Counter[tuple[Span, str]] = field(default_factory=Counter)
    once: set[Index] = field(default_factory=set)
    open_terms: int = 0
    open_parts: int = 0

    def place_of(self, name: str) -> Place:
        """Return what tells a number that a loop carries from others: parts of loops around have it again."""
        where = here(), name
        self.carried[where] += 1
        return *where, self.carried[where]

    def count_repeat(self, what: str) -> None:
        """Count an iteration or a call that records its statements anew: there are bounds on all of them."""
        self.repeats += 1
        if self.repeats > MOST_REPEATS:
            raise trace_error(
                "CYC102",
                f"{what} record their statements {self.repeats:,} times, and at most {MOST_REPEATS:,} times"
                " all together",
                help="write `for i in range(...)`, which records them once, and call kernels in fewer places",
            )

    def add_input(
        self,
        name: str,
        dtype: str,
        scalars: tuple[int, ...],
        tile: tuple[int, ...] | None,
        span: Span,
        *,
        what: str = "argument",
        variable: str = "",
    ) -> SymbolicTensor:
        """Add an argument; `variable` as in `declare`."""
        _check_dtype(f"{what} `{name}` has", dtype, span)
        _check_sizes(name, scalars, span)
        if tile is not None:
            _check_tiles(f"{what} `{name}`", dtype, span)
        tensor = SymbolicTensor(
            self, name, dtype, scalars, tile, is_input=True, fill=None, span=span, variable=variable
        )
        self.tensors.append(tensor)
        return tensor

    def add_constant(self, name: str, values: NDArray[Any], tile: tuple[int, ...] | None) -> SymbolicTensor:
        """The tensor of an array of the host, as it is now: one for equal values under one name."""
        import hashlib  # few kernels read arrays of the host

        snapshot = np.array(values, dtype=values.dtype.newbyteorder("="), order="C")
        if snapshot.dtype == np.bool_:
            snapshot = snapshot.view(np.uint8) != 0  # other bytes than 0 and 1 are true as well
        snapshot.flags.writeable = False
        known = snapshot.dtype.name in DTYPES  # else it is refused below
        numbers = hashlib.sha256(snapshot.data).digest() if known else b""
        key = (name, snapshot.dtype.name, snapshot.shape, tile, numbers)
        if key not in self.constants:
            dtype, span = snapshot.dtype.name, here()
            tensor = self.add_input(
                self._unused(name), dtype, snapshot.shape, tile, span, what="array", variable=name
            )
            tensor.values = snapshot
            self.constants[key] = tensor
        return self.constants[key]

    def _unused(self, name: str) -> str:
        """A name like this that no tensor has."""
        taken = {tensor.unique_name for tensor in self.tensors}
        return unused(name, taken)

    def declare(
        self,
        name: str | None,
        scalars: tuple[int, ...],
        tile: tuple[int, ...] | None,
        dtype: str | None,
        fill: complex | None,
        *,
        anywhere: bool = False,
        variable: str = "",
    ) -> SymbolicTensor:
        """Add a tensor that the kernel computes; with `anywhere` in loops too, which assign all of it.

        Users know it by `variable`, the name of which it is a version or words for what it holds; by default
        by `name`. The system has it under a name that no other tensor has.
        """
        span = here()
        if self.indices() and not anywhere:
            raise TraceError(
                "a tensor is declared inside a loop",
                code="CYC115",
                span=span,
                help="declare it before the loops, with an axis for each loop that it depends on",
            )
        if dtype is not None:
            _check_dtype(f"`{name or 'a tensor'}` is declared with", dtype, span)
        chosen = dtype or default_dtype(self.dtypes_of_arguments(), sums=tile is None and fill is not None)
        _check_sizes(name or "a tensor", scalars, span)
        if tile is not None:
            _check_tiles(f"`{name or 'a tensor'}`", chosen, span)
        if chosen == "bool" and fill is not None:
            fill = bool(fill)
        variable = variable or name or "value"
        unique = self._unused(name or "T")
        tensor = SymbolicTensor(
            self, unique, chosen, scalars, tile, is_input=False, fill=fill, span=span, variable=variable
        )
        tensor.adopts_dtype = dtype is None
        if fill is not None:
            check_dtypes("assignment", (Constant(fill, span), Access(tensor, (), span)), span)
        self.tensors.append(tensor)
        return tensor

    def dtypes_of_arguments(self) -> list[str]:
        """Return the dtypes that decide for arrays declared without one; arrays of the host do not count."""
        return [tensor.dtype_name for tensor in self.tensors if tensor.is_input and tensor.values is None]

    def indices(self) -> tuple[Index, ...]:
        """The indices of the open loops, outermost first."""
        return indices_of(self.scopes)

    def region(self) -> Region:
        """The points where the open loops and conditions all hold."""
        return region_of(self.scopes)

    @contextmanager
    def assuming(self, condition: Condition, holds: bool = True) -> Iterator[None]:
        """While a value is recorded that is taken only where a condition holds, or where it does not."""
        self.assumed.append(lambda: (condition if holds else condition.negated()).region)
        try:
            yield
        finally:
            self.assumed.pop()

    def taken(self) -> Region:
        """The points of `region` where the value that is recorded is taken."""
        region = self.region()
        for assumed in self.assumed:
            region = intersection(region, assumed())
        return region

    def new_index(self, name: str, *, hides: bool = False) -> Index:
        """The index of a loop; under a name that the open loops do not have where it may hide one of theirs.

        Those of kernels that are called do, and of reductions, as in Python.
        """
        taken = {index.name for index in self.indices()} if self.calls or hides else set()
        return Index(unused(name, taken), here())

    def open_loop(self, index: Index, region: Region, running: SymbolicTensor | None = None) -> None:
        """Open a loop or reduction; its index must not hide another one."""
        for outer in self.indices():
            if outer.name == index.name:
                raise TraceError(
                    f"the name `{index.name}` is used for two nested indices",
                    code="CYC109",
                    span=index.span,
                    notes=[(outer.span, "it is an index here already")],
                    help="give the inner index another name",
                )
        if running is not None:
            self.flags[index] = running
        order = self._next_order()
        self.scopes.append(Scope(index, region, order=order, tensors=len(self.tensors), running=running))
        self.check_region(region, index.span)

    def close_loops(self, count: int) -> None:
        """Close the innermost loops."""
        del self.scopes[len(self.scopes) - count :]

    @property
    def held(self) -> int:
        """The number of loops and statements so far in the innermost loop."""
        return next((scope for scope in reversed(self.scopes) if scope.index), self.scopes[0]).held

    def _next_order(self) -> int:
        """The order of a loop or statement that begins, in the innermost loop."""
        holder = next((scope for scope in reversed(self.scopes) if scope.index), self.scopes[0])
        holder.held += 1
        return holder.held - 1

    def guard(self) -> Tensor | None:
        """The flag of the innermost open loop that may end early."""
        return next((scope.running for scope in reversed(self.scopes) if scope.running is not None), None)

    def make_older(self, tensor: SymbolicTensor, loop: Scope) -> SymbolicTensor:
        """Let a tensor that was just declared in a loop be one from before it, which its end freezes."""
        self.tensors.insert(loop.tensors, self.tensors.pop())
        for scope in self.scopes[self.scopes.index(loop) :]:
            scope.tensors += 1
        return tensor

    def _frozen(self, target: Tensor, index: tuple[Affine, ...], value: object) -> object:
        """Return the value of a statement in loops that may have ended, else what the element is already.

        Tensors that such a loop makes are not seen after it and need no choice.
        """
        scope = next((scope for scope in reversed(self.scopes) if scope.running is not None), None)
        if scope is None or not any(tensor is target for tensor in self.tensors[: scope.tensors]):
            return value
        assert scope.running is not None
        if target.initial is None and not target.is_input and not target.complete:
            target.initial = 0  # `cy.empty` says nothing of what an element is that is not yet assigned
        term = value.element() if isinstance(value, Increment) else element(value)
        self._check_value(target, term, here())
        return apply("where", Access(scope.running, (), here()), term, Access(target, index, here()))

    def assign(
        self, target: Tensor, index: tuple[Affine, ...], value: object, *, guarded: bool = True
    ) -> None:
        """Record a statement, and the equation or accumulation that it spells if all spell recurrences.

        Unless `guarded` is False, it does nothing once a loop around it has ended.
        """
        span = here()
        self._check_owner(target, span)
        if target.values is not None:
            raise assigned(target.name)
        self.check_scope(index, span)
        flag = self.guard()
        value = _as_stored(target, value)
        if flag is not None:
            value = _while_running(value, Access(flag, (), span))
        if guarded:
            value = self._frozen(target, index, value)
        increment = value if isinstance(value, Increment) else None
        term = increment.value if increment else element(value)
        self._check_value(target, term, span)
        self._record_statement(target, index, increment.element() if increment else term, span)
        if self.refusal is not None:
            return
        try:
            if increment:
                self._check_target(target, span)
                accumulate.record(self.equations, self.scopes, target, index, increment, span)
            else:
                self._record_equation(target, index, term, span)
        except TraceError as error:
            self.refusal = error

    def guard_since(self, statements: int, equations: int, test: Element) -> None:
        """Let what is recorded after so many of each compute on values that suit where a test fails."""
        for one in (*self.statements[statements:], *self.equations[equations:]):
            one.value = while_running(one.value, test)

    def assign_view(self, target: View, value: object) -> None:
        """Record `target[...] = value`."""
        assign.assign(target, value)

    def update_view(self, target: View, op: str, value: object) -> None:
        """Record `target += value` and the like."""
        if op == "matmul":
            assign.multiply(target, value)
        else:
            assign.update(target, op, value)

    def accumulate_view(self, target: View, value: object, **options: bool) -> None:
        """Record `target += value` as an accumulation; `assign.grow` has options."""
        assign.grow(target, value, **options)

    def new_array(self, value: SymbolicArray, name: str) -> SymbolicTensor | View:
        """A new tensor, or a part of one, that holds an array, positioned as what that is computed from."""
        return assign.new_part(value, name)[1]

    def bind(self, names: dict[Tensor, str], sources: Sources, first: int, **options: Any) -> None:
        """Note that the statements since one give names what other arrays hold, as `Binding` tells."""
        where = first, len(self.statements), scoped(self.scopes), self.guard() is not None
        self.bindings.append(Binding(names, sources, *where, **options))

    def _record_statement(
        self, target: Tensor, index: tuple[Affine, ...], value: Element, span: Span
    ) -> None:
        loops = self.indices()
        text = (*(scope.order for scope in self.scopes if scope.index), self._next_order())
        region = self.region()
        if region:
            around = scoped(self.scopes)
            self.statements.append(
                Statement(target, index, loops, region, value, span, inside=loops, scopes=around, text=text)
            )
            target.assigned = len(self.statements)

    def _check_target(self, target: Tensor, span: Span) -> None:
        if target.is_input:
            raise TraceError(
                f"`{target.name}` is an input and cannot be assigned",
                code="CYC106",
                span=span,
                notes=[(target.span, "it is an argument of the kernel")],
                help=f"declare a result, e.g. `X = cy.empty_like({target.name})`, and assign its elements",
            )

    def _record_equation(
        self, target: Tensor, index: tuple[Affine, ...], expression: Element, span: Span
    ) -> None:
        self._check_target(target, span)
        if accumulate.replace(self.equations, self.scopes, target, index, expression):
            return
        for access in accesses(expression):
            if access.names(target, index):
                raise TraceError(
                    f"`{access!r}` is computed from itself",
                    code="CYC113",
                    span=access.span if access.span != NO_SPAN else span,
                    help="every element has one equation; write `+=` or `-=` in a loop to accumulate, or use"
                    " another tensor",
                )
        loops = self.indices()
        region = self.region()
        if region:
            self.equations.append(Statement(target, index, loops, region, expression, span, inside=loops))

    def check_scope(self, forms: Sequence[Affine], span: Span) -> None:
        """Raise `TraceError` where a form speaks about an index whose loop is not open."""
        open_indices = set(self.indices())
        outside = [index for form in forms for index in form.terms if index not in open_indices]
        if outside:
            raise TraceError(
                f"index `{outside[0].name}` is used outside its loop",
                code="CYC109",
                span=span,
                notes=[(outside[0].span, "the loop is here")],
                help="a loop is a domain and has no last value; use the index inside its loop only",
            )

    def _check_value(self, target: Tensor, value: Element, span: Span) -> None:
        if not isinstance(value, Constant) and value.dtype != target.dtype_name:
            raise ShapeError(
                f"a value of dtype {value.dtype} is assigned to `{target.name}`,"
                f" which has {target.dtype_name}",
                code="CYC120",
                span=span,
                notes=[(target.span, f"`{target.name}` is declared here")],
                help=f'convert it with `.astype("{target.dtype_name}")`, or declare `{target.name}` with'
                f' dtype="{value.dtype}"',
            )
        check_dtypes("assignment", (value, Access(target, (), span)), span)
        self._check_expression(value, set())

    def _check_owner(self, tensor: Tensor, span: Span) -> None:
        if tensor.owner is not self:
            raise TraceError(
                f"`{tensor.name}` belongs to another run of a kernel",
                code="CYC118",
                span=span,
                help="use the arguments of this kernel and the tensors that it declares",
            )

    def _check_expression(self, value: Element, checked: set[tuple[int, int]]) -> None:
        """Check that all indices of an expression are those of open loops or of its own reductions."""
        if (id(value), len(self.scopes)) in checked:
            return
        checked.add((id(value), len(self.scopes)))
        if isinstance(value, Access):
            self._check_owner(value.tensor, value.span)
            self.check_scope(value.index, value.span)
        elif isinstance(value, IndexValue):
            self.check_scope([value.form], value.span)
        elif isinstance(value, Reduce):
            self.scopes.append(Scope(value.index, EVERYWHERE))
            try:
                self.check_region(value.region, value.span)
                self._check_expression(value.body, checked)
            finally:
                self.scopes.pop()
        else:
            if isinstance(value, Choose):
                self.check_region(value.condition.region, value.span)
            for operand in value.operands:
                self._check_expression(operand, checked)

    def check_region(self, region: Region, span: Span) -> None:
        """Raise `TraceError` where a condition speaks about an index whose loop is not open."""
        self.check_scope([c.form for conjunction in region for c in conjunction], span)


def _as_stored(target: Tensor, value: object) -> object:
    """A value in the dtype of the tensor that keeps it; a sum that has another is kept in each step."""
    if target.blocked:
        one = value if isinstance(value, Increment) else element(value)
        return converted(one, target.dtype_name) if isinstance(one, Element) and one.type.weak else one
    if not isinstance(value, Increment):
        whole = element(value)
        check_adopted(whole, target)
        return _held(whole, target.dtype_name)
    accumulated = value.element()
    if accumulated.dtype == target.dtype_name:
        return replace(value, value=stored(value.value, target.dtype_name))
    return stored(accumulated, target.dtype_name)


def _held(value: Element, dtype: str) -> Element:
    """A value as an array of a dtype holds it, of what conditions choose each."""
    if value.of_changed is None or value.dtype == dtype:
        return stored(value, dtype)
    return value.of_changed(lambda one: _held(one, dtype))


def _while_running(value: object, running: Access) -> object:
    if isinstance(value, Increment):
        return replace(value, value=while_running(value.value, running))
    return while_running(element(value), running)


def _check_dtype(what: str, dtype: str, span: Span) -> None:
    if dtype not in DTYPES:
        help = advice(dtype, f"use {', '.join(USUAL_DTYPES)}")
        raise ShapeError(f"{what} dtype {dtype}", code="CYC120", span=span, help=help)


def _check_sizes(name: str, scalars: Sequence[int], span: Span) -> None:
    for size in scalars:
        if size >= _MOST_SCALARS:
            raise ShapeError(
                f"an axis of `{name}` has {size} elements, not fewer than 2^62",
                code="CYC122",
                span=span,
                help="make it smaller",
            )


def _check_tiles(what: str, dtype: str, span: Span) -> None:
    """Refuse tiles of floats that `ml_dtypes` adds, whose products NumPy keeps in float32."""
    if dtype in ADDED:
        raise ShapeError(
            f"{what} has tiles of dtype {dtype}",
            code="CYC120",
            span=span,
            help='give it without tiles, or convert it first, e.g. `cy.blocked(x.astype("float32"), tile)`',
        )


def default_dtype(inputs: Sequence[str], *, sums: bool) -> str:
    """The dtype of a tensor that is declared without one: that of all inputs, of numbers, or else float64.

    Where it may start sums, as scalars do that have a first value, it is float64, as NumPy's, beside whole
    numbers of fewer than 32 bits, in which sums wrap.
    """
    dtype = inputs[0] if len(set(inputs)) == 1 and inputs[0] != "bool" else "float64"
    return "float64" if sums and is_whole(dtype) and np.dtype(dtype).itemsize < 4 else dtype


def active_trace() -> Trace:
    """Return the recording in progress; the intermediate language means nothing without one."""
    recorder = active_recorder()
    assert isinstance(recorder, Trace)
    return recorder


def traced() -> bool:
    """Return whether a kernel is recorded, and not run as Python."""
    return isinstance(ACTIVE.get(), Trace)
