"""Programs whose tensors stay in the memories of the PEs from one run to the next."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from cyclotron.compiler.program import Program, require_program
from cyclotron.mpi.layout import Layout
from cyclotron.runtime.backend import Options, Residence, is_told
from cyclotron.runtime.backends import backend_of
from cyclotron.runtime.early_exit import pop_exit_flags
from cyclotron.runtime.numpy_warnings import warn_of
from cyclotron.runtime.prints import pop_prints
from cyclotron.runtime.result import Result
from cyclotron.runtime.run import check_options, checked_input, unfit_input
from cyclotron.support.arguments import invalid_option, shown
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.errors import ExecutionError, ShapeError
from cyclotron.support.tables import Records


def resident(
    program: Program,
    *,
    backend: str = "local",
    bind: Mapping[str, str] | None = None,
    ranks: int | None = None,
    deal: Layout | None = None,
    threads: int = 0,
    event_limit: int | None = None,
) -> Resident:
    """Keep a program's inputs and outputs in the PEs from one run to the next.

    Parameters
    ----------
    program : Program
        From `Kernel.compile` or `load`.
    backend : {"local", "sim", "mpi"}
        As of `run`.
    bind : dict of str to str, optional
        See `Resident.bind`: outputs, and the inputs that they are in the next run.
    ranks, deal, threads, event_limit
        As of `run`.

    Returns
    -------
    Resident
        A context manager.

    Raises
    ------
    ExecutionError
        If the backend keeps nothing between runs, or an option has no meaning on it (CYC713, CYC733).
    CapacityError
        If a PE of ``sim`` has no room for its elements of the tensors, once a tensor, beside its program
        (CYC505).

    Examples
    --------
    >>> @cy.kernel
    ... def step(A, x):
    ...     return A @ x
    >>> program = step.compile(cy.spec((2, 2)), cy.spec((2,)))
    >>> with cy.resident(program, bind={"result": "x"}) as power:
    ...     first = power.run(A=np.array([[1.0, 1.0], [1.0, 0.0]]), x=np.array([1.0, 0.0]))
    ...     for _ in range(8):
    ...         last = power.run()  # A is there, and x is what came out
    ...     power["result"].tolist()
    [55.0, 34.0]
    """
    require_program(program, "resident()")
    chosen = backend_of(backend)
    options = Options(threads=threads, ranks=ranks, deal=deal, event_limit=event_limit)
    check_options(chosen, options)
    program = chosen.placed(program, options)
    if chosen.keep is None:
        raise invalid_option(
            f"the {chosen.name} backend keeps nothing between runs", 'use backend="local", "sim" or "mpi"'
        )
    handle = Resident(program, chosen.name, chosen.keep(program, options))
    try:
        if bind is not None and not isinstance(bind, Mapping):
            help = 'name the inputs of the next run by the outputs that they are, e.g. bind={"result": "x"}'
            raise invalid_option(f"bind={shown(bind)} is no dict", help)
        for output, name in (bind or {}).items():
            handle.bind(output, name)
    except BaseException:
        handle.close()
        raise
    return handle


class Resident:
    """A program whose inputs and outputs stay in the PEs; from `resident`, a context manager.

    What is given to `run` stays until it is given again. Outputs stay until the next run; ``handle["y"]``
    fetches one. The numbers are those of separate runs, bit for bit. Where a run fails, inputs stay as that
    run began with them, and there are no outputs until a run succeeds. On ``mpi`` under a launcher every
    method is collective.

    Attributes
    ----------
    program : Program
    backend : str

    Examples
    --------
    >>> @cy.kernel
    ... def decay(x, rate):
    ...     return x * rate[0]
    >>> program = decay.compile(cy.spec((2,)), cy.spec((1,)))
    >>> with cy.resident(program, bind={"result": "x"}) as handle:
    ...     outputs = [handle.run(x=np.ones(2), rate=np.array([0.5])).output]
    ...     outputs += [handle.run().output for _ in range(2)]
    >>> [float(output[0]) for output in outputs]
    [0.5, 0.25, 0.125]
    """

    def __init__(self, program: Program, backend: str, residence: Residence) -> None:
        self.program = program
        self.backend = backend
        self._residence: Residence | None = residence
        self._tensors = {t["name"]: t for t in program.tensors}
        self._inputs = [t["name"] for t in program.tensors if t["role"] == "input"]
        outputs = [t["name"] for t in program.tensors if t["role"] == "output"]
        self._told = [name for name in outputs if is_told(name)]
        self._outputs = [name for name in outputs if not is_told(name)]
        self._sources: dict[str, str] = {}  # the output that each bound input is of the run before
        self._given: set[str] = set()
        self._computed = False  # there are outputs, that no later run has begun to replace
        self._runs = 0
        self._account: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def account(self) -> Records:
        """Runs and transfers so far, a dict a kind; prints as a table.

        Fields: ``what`` (``give``, ``run``, ``feed`` or ``fetch``); ``name`` of the tensor; ``times``;
        ``bytes``, that were copied into the PEs' hosts or out of them, of a ``feed`` sent between ranks;
        ``messages``, of a ``feed``; ``cycles``, on ``sim``.
        """
        return Records(self._account.values())

    @property
    def cycles(self) -> int:
        """Simulated clock cycles of all runs and fetches so far; 0 where none were simulated."""
        return sum(entry["cycles"] for entry in self.account)

    def bind(self, output: str, name: str) -> None:
        """Let an output of each run be an input of the next, where that is not given then.

        Parameters
        ----------
        output, name : str
            The output and the input, of equal shapes, dtypes and tiles.

        Raises
        ------
        ExecutionError
            If there is no such output or input, or the ``with`` block has ended (CYC743).
        ShapeError
            If they differ in shape, dtype or tile, or the output is bound to another input (CYC744).
        """
        self._open()
        self._require(output, self._outputs, "output")
        self._require(name, self._inputs, "input")
        ours, theirs = self._tensors[output], self._tensors[name]
        for what in ("shape", "dtype", "tile"):
            if ours[what] != theirs[what]:
                raise _unfit(
                    f"output `{output}` has {what} {_text(ours[what])}, input `{name}` {_text(theirs[what])}",
                    "bind tensors of equal shapes, dtypes and tiles",
                )
        for other, source in self._sources.items():
            if source == output and other != name:
                raise _unfit(
                    f"output `{output}` is bound to input `{other}`, so not to `{name}`",
                    f"return a copy for each input, or give one: run({name}=...)",
                )
        self._sources[name] = output

    def run(self, **inputs: Any) -> Result:
        """Run once.

        Parameters
        ----------
        **inputs : ndarray or Blocked
            Those that are new; others stay: bound ones are outputs of the run before, and at first those of
            the compile count as given.

        Returns
        -------
        Result
            Its ``outputs`` are fetched when they are looked at, before the next run.

        Raises
        ------
        ExecutionError
            If there is no such input, or the ``with`` block has ended (CYC743); what `cyclotron.run` raises.
        ShapeError
            If an input does not fit, or was never given (CYC710).
        """
        residence = self._open()
        started = time.perf_counter()
        with errors_at_call():
            for name in inputs:
                self._require(name, self._inputs, "input")
            if not self._runs and not self._given:
                inputs = {**self.program.inputs(), **inputs}
            new = {name: checked_input(self._tensors[name], array) for name, array in inputs.items()}
            fed = [name for name in self._sources if name not in new and self._computed]
            for name in self._inputs:
                if name not in new and name not in fed and name not in self._given:
                    raise unfit_input(
                        f"input `{name}` was never given", f"give it to the first run: run({name}=...)"
                    )
        loaded = {*new, *(self.program.constants if not self._runs else ())}
        self._computed = False
        for name in fed:
            messages, size = residence.feed(self._sources[name], name)
            self._given.add(name)
            self._note("feed", name, size, messages)
        for name, array in new.items():
            self._given.discard(name)
            self._note("give", name, residence.give(name, np.asarray(array)))
            self._given.add(name)
        execution = residence.run(frozenset(loaded))
        self._computed = True
        self._runs += 1
        seconds = time.perf_counter() - started
        cycles = None if execution.timing is None else int(execution.timing["cycles"])
        self._note("run", "", 0, cycles=cycles)
        warn_of(self.program, execution.raised)
        execution.outputs.update({name: residence.fetch(name)[0] for name in self._told})
        result = Result(self.program, self.backend, execution, seconds)
        try:
            return pop_exit_flags(pop_prints(result))
        finally:
            result.outputs = cast(dict[str, Any], _Outputs(self, self._runs))

    def __getitem__(self, output: str) -> NDArray[Any]:
        """Fetch an output of the last run, a copy.

        Raises
        ------
        ExecutionError
            If there is no such output, no run has succeeded since the last began, or the ``with`` block has
            ended (CYC743).
        """
        residence = self._open()
        self._require(output, self._outputs, "output")
        if not self._computed:
            raise _misused(
                f"there is no `{output}` yet", "its values are there after a run that has succeeded"
            )
        array, cycles = residence.fetch(output)
        self._note("fetch", output, array.nbytes, cycles=cycles)
        return array

    def close(self) -> None:
        """Drop the tensors; what was fetched stays."""
        if self._residence is not None:
            residence, self._residence = self._residence, None
            residence.close()

    def __enter__(self) -> Resident:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._residence is None else f"{self._runs} runs"
        return f"<resident {self.program.kernel_name} on {self.backend}, {state}>"

    def _open(self) -> Residence:
        if self._residence is None:
            raise _misused(
                f"`{self.program.kernel_name}` is resident no more",
                "use it inside its `with` block, or make it resident again",
            )
        return self._residence

    def _require(self, name: Any, names: list[str], what: str) -> None:
        if not isinstance(name, str) or name not in names:
            raise _misused(
                f"`{self.program.kernel_name}` has no {what} {shown(name)}",
                f"its {what}s are: {', '.join(names) or 'none'}",
            )

    def _note(self, what: str, name: str, size: int, messages: int = 0, cycles: int | None = None) -> None:
        entry = self._account.setdefault(
            (what, name), {"what": what, "name": name, "times": 0, "bytes": 0, "messages": 0, "cycles": 0}
        )
        for field, more in {"times": 1, "bytes": size, "messages": messages, "cycles": cycles or 0}.items():
            entry[field] += more


def _misused(message: str, help: str) -> ExecutionError:
    """Return the error of what a resident program cannot do now."""
    return ExecutionError(message, code="CYC743", help=help)


def _text(value: Any) -> str:
    return str(tuple(value) if isinstance(value, list) else value)


class _Outputs(Mapping[str, Any]):
    """The outputs of one run, fetched when they are first looked at."""

    def __init__(self, handle: Resident, run: int) -> None:
        self._handle = handle
        self._run = run
        self._fetched: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._handle._outputs:
            raise KeyError(name)
        if name not in self._fetched:
            if self._run != self._handle._runs:
                raise _misused(
                    f"`{name}` of run {self._run} is no more: there have been {self._handle._runs} runs",
                    "look at outputs before the next run",
                )
            self._fetched[name] = self._handle[name]
        return self._fetched[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle._outputs)

    def __len__(self) -> int:
        return len(self._handle._outputs)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _unfit(message: str, help: str) -> ShapeError:
    return ShapeError(message, code="CYC744", help=help)
