"""`@cy.kernel`: a recurrence written as a Python function, with all that can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from cyclotron import graph, language
from cyclotron.compiler.blocking import Blocking, Tile, block_recurrences
from cyclotron.compiler.compile import compile_kernel
from cyclotron.compiler.program import Program
from cyclotron.compiler.recurrences import Recurrences, recurrences_of
from cyclotron.language import Blocked, Spec
from cyclotron.language.kernel import MOST_STEPS
from cyclotron.language.values.context import ACTIVE
from cyclotron.machine.machine import Machine
from cyclotron.runtime.run import run
from cyclotron.schedule.parts import unfit
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.arguments import index_of, require, shown
from cyclotron.support.errors import ShapeError, TraceError

if TYPE_CHECKING:
    from cyclotron.graph import Graph

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
# Searches for a schedule by name, from kernel, arguments and machine: layers above enter theirs.
SEARCHES: dict[str, Callable[..., Schedule]] = {}
_PUBLIC = (
    *("name", "file", "first_line", "number", "signature", "source"),
    *("block", "compile", "graph", "il", "recurrences", "reference"),
)


class Kernel(language.Kernel, Generic[_P, _R]):
    """A recurrence; made by `cyclotron.kernel` from a Python function.

    Calling it compiles and runs it. It is an ordinary NumPy program too: see `reference`. For type checkers
    it has the function's arguments and result.

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

    Examples
    --------
    >>> @cy.kernel
    ... def double(x):
    ...     return 2 * x
    >>> isinstance(double, cy.Kernel), double.reference(np.array([3.0])).tolist()
    (True, [6.0])
    """

    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __call__(self, first: Blocked, /, *args: Any, **kwargs: Any) -> _R: ...
    def __call__(self, *args: Any, **kwargs: Any) -> _R:
        """Compile for these arguments (cached) and run on threads; returns arrays as the function does.

        Tiles are computed by an array of PEs, which threads share; scalars by one PE, or by one for each
        thread, in vectors; long ones in tiles where `cyclotron.run` finds them (its ``tile="auto"``). A
        kernel that another one calls becomes a part of that.
        """
        context = ACTIVE.get()
        result: _R = (
            self._run(self.bind(*args, **kwargs))
            if context is None
            else self.call_within(context, args, kwargs)
        )
        return result

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> Kernel[_P, _R]: ...
    @overload
    def __get__(
        self: Kernel[Concatenate[Any, _Q], _R], owner: object, kind: type | None = None
    ) -> Kernel[_Q, _R]: ...
    def __get__(self, owner: object, kind: type | None = None) -> Any:
        """Return the method of an object: a kernel whose attributes of ``self`` are values of the host."""
        return self if owner is None else self.bound_to(owner)

    def compile(
        self,
        *args: Any,
        schedule: Schedule | Literal["best"] | None = None,
        machine: Machine | None = None,
        tile: Tile = None,
        **kwargs: Any,
    ) -> Program:
        """Compile for these arguments.

        Parameters
        ----------
        *args : ndarray, Blocked or Spec
            One for each parameter; arrays are bound as the default inputs.
        schedule : Schedule or "best", optional
            "best": that of the best mapping which `cyclotron.map` finds in its usual time, once for the same
            shapes and machine. By default the fastest of as many legal ones as are tried, by the simulator;
            of those within 5 % the one on the fewest PEs. Where a much faster one was refused, a
            `PerformanceWarning` says why.
        machine : Machine, optional
            By default one that is large enough.
        tile : int, "auto", or dict of str to int, optional
            The length of tiles, of all indices or by their names: the kernel on scalars becomes one over
            tiles, computed by tile operators (see `block`), with plain arrays in and out. Sums are added up
            tile by tile then, so that the bits differ from those of the kernel on scalars; all backends still
            agree. By default nothing is blocked.

        Returns
        -------
        Program

        Raises
        ------
        LegalityError
            With `tile`: CYC230 if tiles need each other in a circle, CYC231 if no tile operator computes
            them.
        ShapeError
            CYC232 if `tile` is no length, or names no index.
        """
        search = SEARCHES.get(schedule) if isinstance(schedule, str) else None
        if search and tile is not None:
            raise unfit(
                f"the best schedule is searched for the kernel on scalars, and tile={tile!r} makes another",
                "block the arguments (cy.blocked), or choose among tiles: cy.map(..., tiles=...)",
            )
        chosen: Any = search(self, args, kwargs, machine) if search else schedule
        return compile_kernel(self, self.bind(*args, **kwargs), chosen, machine, tile)

    def block(self, *args: Any, tile: Tile = None, **kwargs: Any) -> Blocking:
        """Find the tile operators that compute the kernel in tiles, without compiling it.

        Parameters
        ----------
        *args : ndarray or Spec
            One for each parameter; only shapes and dtypes matter.
        tile : int, "auto", or dict of str to int, optional
            The length of tiles, of all indices or by their names; others as fits them.

        Returns
        -------
        Blocking
            Prints the classes of tiles, as exact sets, with their operators; has ``classes`` and
            ``explain()``.

        Raises
        ------
        LegalityError
            CYC230 if tiles need each other in a circle, CYC231 if the kernel has no tiles.
        ShapeError
            CYC232 if `tile` is no length, or names no index.

        Examples
        --------
        >>> @cy.kernel
        ... def square(A):
        ...     C = cy.empty_like(A)
        ...     for i in range(A.shape[0]):
        ...         for j in range(A.shape[1]):
        ...             C[i, j] = sum(A[i, k] * A[k, j] for k in range(A.shape[1]))
        ...     return C
        >>> print(square.block(cy.spec((100, 100)), tile=32))
        square in tiles: i, j, k 32
          C where 0 <= i <= 3 and 0 <= j <= 3: gemm
        """
        return block_recurrences(self, recurrences_of(self, self.bind(*args, **kwargs)), tile)

    @overload
    def reference(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def reference(self, first: Blocked, /, *args: Any, **kwargs: Any) -> _R: ...
    def reference(self, *args: Any, **kwargs: Any) -> _R:
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
        result: _R = super().reference(*args, **kwargs)
        return result

    def recurrences(self, *args: Any, **kwargs: Any) -> Recurrences:
        """Return the verified system of recurrence equations for these arguments.

        Parameters
        ----------
        *args : ndarray, Blocked or Spec
            One for each parameter; only shapes, dtypes and tiles matter.

        Returns
        -------
        Recurrences
            Prints one equation a line; has ``dependences``, ``domains``, ``accesses`` and ``space_loops``.
        """
        return recurrences_of(self, self.bind(*args, **kwargs))

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """Return the operations in the order they run, with what each reads, and loops as graphs in it.

        Parameters
        ----------
        *args : ndarray, Blocked or Spec
            One for each parameter; arrays are those with which the graph runs by default.

        Returns
        -------
        Graph
            Prints one node a line and draws itself (``to_svg``, ``to_dot``); ``evaluate`` runs it in NumPy.
        """
        return graph.graph_of(self, self.bind(*args, **kwargs))

    def __dir__(self) -> list[str]:
        """The names for users; others are for the layers that compile and run kernels."""
        return [name for name in super().__dir__() if name.startswith("_") or name in _PUBLIC]

    def _run(self, values: tuple[Any, ...]) -> Any:
        """Compile for the threads of this process, run, and return arrays as the function does."""
        for name, value in zip(self.signature.parameters, values, strict=True):
            if isinstance(value, Spec):
                raise ShapeError(
                    f"the numbers of `{name}` are not here: it is a spec or a distributed array",
                    code="CYC710",
                    help="compile, and run on the ranks: "
                    f'cy.run({self.name}.compile(...), ..., backend="mpi")',
                )
        outputs = run(self, *values, backend="local").outputs
        if self.returns == "single":
            return next(iter(outputs.values()))
        if self.returns == "tuple":
            return tuple(outputs.values())
        names = self.result_names
        in_place = len(names) == len(outputs) and all(
            output in (name, f"{name}_out") for name, output in zip(names, outputs, strict=True)
        )
        return dict(zip(names, outputs.values(), strict=True)) if in_place else outputs


def require_kernel(value: object, call: str) -> None:
    """Refuse what is no kernel where a function takes one."""
    help = "pass a function decorated with @cy.kernel, with its arguments"
    require(value, Kernel, call, error=TraceError, code="CYC116", help=help)


@overload
def kernel(function: Callable[_P, _R], /) -> Kernel[_P, _R]: ...


@overload
def kernel(*, max_steps: int = MOST_STEPS) -> Callable[[Callable[_P, _R]], Kernel[_P, _R]]: ...


def kernel(
    function: Callable[..., Any] | None = None, /, *, max_steps: int = MOST_STEPS
) -> Kernel[..., Any] | Callable[[Callable[..., Any]], Kernel[..., Any]]:
    """Make a kernel of a Python function.

    Parameters
    ----------
    function : function
        Takes arrays and returns the tensors it computes; see the language guide for what its body may say.
        Arrays that it reads of what is around it are constants, as they are when it is compiled.
    max_steps : int, optional
        The most iterations of each ``while``, a million by default. They are those of an index called
        ``step``, in schedules too. A run that would go on is an `ExecutionError` (CYC719), whose ``result``
        has what was computed until then.

    Returns
    -------
    Kernel
        ``f(A, B)`` compiles and runs; ``f.reference(A, B)`` runs the function itself.

    Raises
    ------
    TraceError
        CYC116 for another `max_steps`; where it is called or compiled, if the text is no recurrence (CYC1xx).

    Examples
    --------
    >>> @cy.kernel
    ... def double(x):
    ...     return 2 * x
    >>> double(np.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    steps = None if isinstance(max_steps, bool) else index_of(max_steps)
    if steps is None or not 0 <= steps < 1 << 31:
        raise TraceError(
            f"a kernel has max_steps={shown(max_steps)}",
            code="CYC116",
            help="give a whole number of at least 0, e.g. `@cy.kernel(max_steps=1000)`",
        )
    if function is None:
        return lambda function: Kernel(function, max_steps=steps)
    return Kernel(function, max_steps=steps)
