"""`@cy.kernel`: a recurrence written as a Python function."""

from __future__ import annotations

import ast
import functools
import html
import inspect
import itertools
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cyclotron.language import il
from cyclotron.language.arguments import TensorArgument, check_axes, describe, normalize
from cyclotron.language.host_errors import OF_TYPES, OF_VALUES, told
from cyclotron.language.lower.build import Builder, build, build_nest
from cyclotron.language.lower.nests import may_be_nest
from cyclotron.language.lower.recorded import RecordedSystem
from cyclotron.language.syntax.annotations import check_members, conforms, not_of_its_type, resolved
from cyclotron.language.syntax.bounded_while import bound_loops
from cyclotron.language.syntax.factories import factory_of, instantiate
from cyclotron.language.syntax.globals import fingerprint
from cyclotron.language.syntax.il_preamble import preamble
from cyclotron.language.syntax.source import Source, closure_of
from cyclotron.language.syntax.trees import walk
from cyclotron.language.trace.assign import array
from cyclotron.language.trace.axis_names import name_axes
from cyclotron.language.trace.calls import inlined
from cyclotron.language.trace.loop_carried import anew, is_provisional, unsettled
from cyclotron.language.trace.storage import check_storage
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.blocked import Blocked, Spec
from cyclotron.language.values.context import ACTIVE, Recorder, Reference
from cyclotron.language.values.host_functions import names_outside, outer, over_constants, reads_arrays
from cyclotron.language.values.numpy_warnings import at_user_lines
from cyclotron.language.values.reference import unwrap, wrap
from cyclotron.language.values.scalar_type import literal
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.errors import CyclotronError, Span, TraceError

if TYPE_CHECKING:
    from cyclotron.language.syntax.rewrite import Rewritten
    from cyclotron.language.syntax.static import EquationShape


# The most iterations of a `while`, where a kernel says nothing else.
MOST_STEPS = 1_000_000
_NUMBERS = itertools.count()
_MOST_RECORDINGS = 50


class Kernel:
    """A recurrence; made by `cyclotron.kernel` from a Python function.

    Calling it compiles and runs it. It is an ordinary NumPy program too: see `reference`.

    Attributes
    ----------
    name : str
        The function's name.
    file : str
        Where it is defined.
    first_line : int
        Its first line there, decorators included.
    number : int
        That of no other kernel of this process.
    cache : dict
        Values that refer to it, such as its programs, by the layer that made them.
    """

    def __init__(
        self, function: Callable[..., Any], *, is_il: bool = False, max_steps: int = MOST_STEPS
    ) -> None:
        if not isinstance(function, FunctionType):
            raise TraceError(
                f"a kernel is made from a `{type(function).__name__}`",
                code="CYC116",
                help="decorate a function made by `def`",
            )
        functools.update_wrapper(cast(Any, self), function)
        self.name = function.__name__
        self.file = function.__code__.co_filename
        self.first_line = function.__code__.co_firstlineno
        self.signature = inspect.signature(function)
        self._function = function
        self._is_il = is_il
        self._max_steps = max_steps
        self.number = next(_NUMBERS)
        self.cache: dict[str, Any] = {}
        self._owner: tuple[Any, ...] = ()  # of a method, the object
        self._factories: dict[tuple[Any, ...], CodeType] = {}  # by the free variables that have a value

    def bound_to(self, owner: object) -> Kernel:
        """Return the method of an object: a kernel whose attributes of ``self`` are values of the host."""
        bound = object.__new__(type(self))
        bound.__dict__.update(self.__dict__, _owner=(owner,), cache={})
        parameters = list(self.signature.parameters.values())
        bound.signature = self.signature.replace(parameters=parameters[1:])
        return bound

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By its name, as functions; of a method, by its object's."""
        return (getattr, (*self._owner, self.name)) if self._owner else self._function.__qualname__

    def call_within(
        self, context: Recorder | Reference, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call it from another kernel, which is recorded or runs as Python: it becomes a part of that.

        Parameters
        ----------
        context : Recorder or Reference
            The active one, of the kernel that calls.
        args : tuple
        kwargs : dict
        """
        if isinstance(context, Trace):
            bound = self._complete(args, kwargs)
            bound.arguments.update({name: array(value, name=name) for name, value in bound.arguments.items()})
            self._check_types(bound.arguments)
            return inlined(context, self.name, self.returns, functools.partial(self._record, bound))
        bound = self._complete(args, kwargs)
        return self._body(*self._owner, *bound.args, **bound.kwargs)

    def reference(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function's own body in plain Python and NumPy: the oracle of every test.

        Parameters
        ----------
        *args : ndarray or Blocked
            One for each parameter; not modified.

        Returns
        -------
        ndarray, or tuple or dict of them
            As the function returns; arrays of scalars, also for blocked arguments.
        """
        if self._is_il:
            raise TraceError(
                f"`{self.name}` is written in the intermediate language and has no Python body to run",
                code="CYC118",
                help="write it under `@cy.kernel` to have a reference",
            )
        values = self.bind(*args, **kwargs)
        dtypes = [value.dtype.name for value in values if isinstance(value, (np.ndarray, Blocked))]
        named = dict(zip(self.signature.parameters, values, strict=True))
        for name, value in named.items():
            if isinstance(value, Spec):
                raise TraceError(
                    f"argument `{name}` has no data", code="CYC116", help="the reference needs arrays"
                )
        bound = self.signature.bind_partial()
        bound.arguments.update({name: _wrapped(value) for name, value in named.items()})
        token = ACTIVE.set(Reference(dtypes))
        try:
            with at_user_lines():
                return unwrap(self._body(*self._owner, *bound.args, **bound.kwargs))
        finally:
            ACTIVE.reset(token)

    def il(self, *_: Any, **__: Any) -> str:
        """Return the kernel in the intermediate language, as text that runs.

        Parameters
        ----------
        *_, **__ : object
            Do not matter: the text is the same for all arguments.
        """
        if self._is_il:
            return self.source
        rewritten = self._rewritten
        lines = [
            *preamble(self._function, rewritten),
            "",
            f"@{rewritten.il}.program",
            ast.unparse(rewritten.node),
        ]
        return "\n".join(lines) + "\n"

    def verified(self, *args: Any, **kwargs: Any) -> tuple[RecordedSystem, Trace]:
        """Return the system of equations of the core, verified, and the recording that it was made from."""
        system, trace = self.build(lambda: RecordedSystem(self.name), *args, **kwargs)
        if not system.assigns_once() and may_be_nest(trace):
            system = build_nest(trace, lambda: RecordedSystem(self.name))
        system.verify()
        system.split_strides()
        return system, trace

    def arrays(self, values: tuple[Any, ...]) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays of scalars among bound values, by parameter."""
        named = zip(self.signature.parameters, values, strict=True)
        bare = {name: value.array if isinstance(value, Blocked) else value for name, value in named}
        return {name: value for name, value in bare.items() if isinstance(value, np.ndarray)}

    def build(self, new: Callable[[], Builder], *args: Any, **kwargs: Any) -> tuple[Builder, Trace]:
        """Trace the kernel for these arguments; return its equations, in a new builder, and the recording."""
        try:
            if not self._is_il:
                _ = self._rewritten  # what the text says comes before what the arguments say
            trace = self._trace(self.bind(*args, **kwargs))
            return build(trace, new), trace
        except CyclotronError as error:
            raise error.with_traceback(None) from None  # the place is in the message

    def bind(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return one value for each parameter, in order: ndarray, `Blocked`, `Spec` or host value."""
        try:
            bound = self._complete(args, kwargs)
        except TypeError as error:
            raise TraceError(
                f"`{self.name}` does not take these arguments: {error}",
                code="CYC116",
                help=f"it has {', '.join(f'`{name}`' for name in self.signature.parameters) or 'none'}",
            ) from None
        values = {name: normalize(name, v, self.argument_span) for name, v in bound.arguments.items()}
        self._check_types(values)
        return tuple(values.values())

    def _check_types(self, values: Mapping[str, Any]) -> None:
        """Check arguments, and the attributes that a method reads, against what they are declared as."""
        if self._owner:
            check_members(self._owner[0], self._attributes_read)
        for name, annotation in self._annotations.items():
            if name in values and not conforms(values[name], annotation):
                place = self.argument_span(name)
                raise not_of_its_type(f"argument `{name}`", values[name], annotation, place)

    def _complete(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Arguments by parameter, with defaults; those that `bind` returned also where only names are."""
        named = [p.name for p in self.signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
        if named and len(args) == len(self.signature.parameters):
            args, rest = args[: -len(named)], args[-len(named) :]
            kwargs = dict(zip(named, rest, strict=True)) | kwargs
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound

    def tensor_arguments(self, values: tuple[Any, ...]) -> dict[str, TensorArgument]:
        """Describe the tensors among bound values, by parameter."""
        named = zip(self.signature.parameters, values, strict=True)
        described = ((name, describe(name, value)) for name, value in named)
        return {name: argument for name, argument in described if argument is not None}

    def equations_shape(self) -> tuple[EquationShape, ...]:
        """Return what the text alone tells of the equations: tensors, indices, reductions and accesses."""
        from cyclotron.language.syntax.static import equations_shape

        return equations_shape(self._source)

    @property
    def source(self) -> str:
        """The function's text."""
        return self._source.text

    @property
    def returns(self) -> str:
        """The form of the results: "single", "tuple" or "dict"."""
        return "dict" if self._is_il else self._rewritten.form

    @property
    def result_names(self) -> tuple[str, ...]:
        """The names of the last `return`; an input assigned in place has its own here, not `A_out`."""
        return () if self._is_il else self._rewritten.results

    @property
    def closes_over_variables(self) -> bool:
        """Return whether the function reads variables of a function or object around it, which may change."""
        return bool(self._owner or self._function.__code__.co_freevars)

    @functools.cached_property
    def _global_names(self) -> tuple[str, ...]:
        names = {node.id for node in walk(self._source.node) if isinstance(node, ast.Name)}
        return tuple(sorted(names & names_outside(self._function.__code__)))

    def globals_read(self, *, within: tuple[Kernel, ...] = ()) -> tuple[tuple[str, str], ...] | None:
        """The values of the globals that the text names; None where one of them may change inside.

        Numbers and text do not change, nor do modules, classes and functions of Cyclotron, NumPy and Python,
        nor kernels that read only such ones; `within` are those that name this one. Functions of the user
        read globals of their own, and objects have attributes.
        """
        known, around = self._function.__globals__, (*within, self)
        found = [(name, fingerprint(known[name], around)) for name in self._global_names if name in known]
        return tuple((name, value) for name, value in found if value) if all(v for _, v in found) else None

    def __repr__(self) -> str:
        return f"<kernel {self.name}{self.signature}>"

    def _repr_html_(self) -> str:
        return f"<pre><code class='language-python'>{html.escape(self.source)}</code></pre>"

    @functools.cached_property
    def _source(self) -> Source:
        return Source(self._function)

    @functools.cached_property
    def _annotations(self) -> dict[str, Any]:
        """The types that parameters are declared as."""
        names = {**self._function.__globals__, **closure_of(self._function)}
        return {
            name: resolved(parameter.annotation, names)
            for name, parameter in self.signature.parameters.items()
            if parameter.annotation is not inspect.Parameter.empty
        }

    @functools.cached_property
    def _rewritten(self) -> Rewritten:
        return self._rewritten_for(frozenset())

    def _rewritten_for(self, numbers: frozenset[str]) -> Rewritten:
        from cyclotron.language.syntax.rewrite import rewrite

        try:
            return rewrite(self._source, self._max_steps, numbers)
        except CyclotronError as error:
            raise error.with_traceback(None) from None
        except RecursionError:
            raise self._source.too_deep(self._source.first_line) from None

    @property
    def _attributes_read(self) -> Mapping[str, Span]:
        """The attributes that a method reads of its object; none where there is no source."""
        try:
            return self._source.attributes_read
        except TraceError:
            return {}

    def argument_span(self, name: str) -> Span | None:
        """The place of a parameter; None where there is no source, which a plain run can do without."""
        try:
            return self._source.argument_span(name)
        except TraceError:
            return None

    def _trace(self, values: tuple[Any, ...]) -> Trace:
        """Record the kernel, and again where loops turned out to change the types of numbers."""
        trace = Trace(self.name)
        for _ in range(_MOST_RECORDINGS):  # each with more of what numbers become that loops carry
            try:
                self._trace_into(trace, values)
            except Exception:
                if not is_provisional(trace):
                    raise
            if not is_provisional(trace):
                return trace
            trace = anew(trace)
        raise unsettled(trace)

    def _trace_into(self, trace: Trace, values: tuple[Any, ...]) -> None:
        bound = self.signature.bind_partial()
        for name, value in zip(self.signature.parameters, values, strict=True):
            tensor = describe(name, value)
            if tensor is not None:
                span = self._source.argument_span(name)
                check_axes(tensor, span)
                value = trace.add_input(name, tensor.dtype, tensor.scalars, tensor.tile, span)
            bound.arguments[name] = value
        token = ACTIVE.set(trace)
        try:
            self._record(bound)
        except CyclotronError:
            raise
        except (*OF_TYPES, *OF_VALUES, RecursionError) as error:
            hosts = {n: v for n, v in bound.arguments.items() if not isinstance(v, SymbolicTensor)}
            known = None if self._is_il else told(error, self._source, hosts)
            raise (error if known is None else known) from None
        finally:
            ACTIVE.reset(token)
        check_storage(trace.statements, trace.bindings, trace.outputs.values())
        name_axes(trace)
        if not trace.outputs:
            raise TraceError(
                f"`{self.name}` returns nothing",
                code="CYC114",
                span=self._source.span(self._source.node.body[-1]),
                help="end it with `return il.outputs(X=X)`" if self._is_il else "end it with `return X`",
            )

    def _record(self, bound: inspect.BoundArguments) -> Any:
        """Run the intermediate language in the recording in progress; returns the results by name."""
        given = bound.arguments.items()
        numbers = frozenset(name for name, value in given if name in self._updated and literal(value))
        function = over_constants(self._function) if self._is_il else self._il_function(numbers)
        return function(*self._owner, *bound.args, **bound.kwargs)

    @property
    def _body(self) -> Callable[..., Any]:
        """The kernel's own function; if it has a bound, with loops that end there."""
        if self._is_il:
            return self._function
        try:
            source = self._source
        except TraceError:  # it has no text, which a plain run can do without
            return self._function
        if not any(isinstance(part, ast.While) for part in ast.walk(source.node)):
            return self._function
        return bound_loops(source, self._function, self._max_steps) or self._function

    @functools.cached_property
    def _updated(self) -> frozenset[str]:
        nodes = () if self._is_il else walk(self._source.node)
        return frozenset(ast.unparse(node.target) for node in nodes if isinstance(node, ast.AugAssign))

    def _il_function(self, numbers: frozenset[str]) -> Callable[..., Any]:
        """Make the function of the intermediate language, with the globals and closure of the original.

        `numbers` are parameters that the text adds to, and that are no arrays. Arrays around the function are
        constants there, and functions that read arrays do so there.
        """
        known = self._function.__globals__
        arrays = {n: known[n] for n in self._global_names if n in known and reads_arrays(known[n])}
        around = {**arrays, **closure_of(self._function)}
        free = {name: outer(value, name=name) for name, value in around.items()}
        names, key = tuple(free), (numbers, *free)
        if key not in self._factories:
            rewritten = self._rewritten_for(numbers) if numbers else self._rewritten
            try:
                given = (rewritten.il, *names)
                self._factories[key] = factory_of(rewritten.node, self.file, given, self._source.owner)
            except SyntaxError as error:  # the text itself is Python: all that can be wrong is its depth
                raise self._source.too_deep(error.lineno) from None
        return instantiate(self._factories[key], self._function, il, *free.values())


def _wrapped(value: Any) -> Any:
    """An argument of a plain run; loop nests may assign elements of arrays, so these are copies."""
    if isinstance(value, np.ndarray):
        return wrap(value.copy())
    return wrap(value, writeable=False)
