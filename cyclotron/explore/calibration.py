"""Times of this machine's kernels and messages, measured once and kept in a file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

import cyclotron.language as cy
from cyclotron import _core, mpi
from cyclotron.compiler.program import Program
from cyclotron.kernel import kernel
from cyclotron.mpi import extension
from cyclotron.mpi.layout import Layout
from cyclotron.runtime.run import run
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.arguments import shown
from cyclotron.support.environment import threads
from cyclotron.support.errors import BackendUnavailable, ShapeError
from cyclotron.support.files import write_file

DTYPES = ("float32", "float64", "complex64", "complex128")
_EXTENTS = (16, 32, 64, 128, 256, 512)
_FLOPS = 1 << 28  # of all solves that are timed together
_FEWEST_OPERATORS, _MOST_OPERATORS = 3, 1 << 12
_METHOD = 3  # of measuring: figures of another are not read
_HOPS = 32
_FEW_BYTES, _MANY_BYTES = 1 << 11, 1 << 19
_RUNS, _MOST_RUNS = 5, 100
_CLOCK_SECONDS = 1e-6  # less than that is not told apart
_SIDE_HANDED, _PES, _ROUNDS = 64, 24, 9
# Wall time by processor time: above that others used the cores; figures are measured again after a while.
_BUSY, _SOON_SECONDS = 1.25, 600.0
_YOUNG_SECONDS = 3600.0
# Runs differ from the model where their time is so many times more, or less; that often in turn, and so long.
_DIFFERENCE, _DIFFERING_RUNS, _SHORT_SECONDS = 1.5, 3, 5e-3


@dataclass(frozen=True)
class Calibration:
    """Rates of kernels on one core, and the time of a message between two ranks.

    Attributes
    ----------
    dtype : str
        Of the numbers, by NumPy's name.
    cores : int
        How many this process may use.
    rates : dict of str to dict of int to float
        For matmul, solve_triangular and cholesky the floating-point operations a second (a complex
        multiply-add is 8) on square tiles, by their extent.
    latency : float
        Seconds from a send on one rank until another has received, without its bytes.
    seconds_per_byte : float
        What each byte adds.
    seconds_per_byte_handed : float
        What a byte takes from a PE to another one of the same rank.
    date : str
        When it was measured, in ISO 8601 and UTC.
    load : float
        Wall time by processor time while it was: 1 where nobody else used the cores. Rates are of processor
        time; where the load is much above 1, messages may be slower than on an idle machine, and figures of
        more than ten minutes ago are measured again.

    Examples
    --------
    >>> calibration = cy.calibrate()
    >>> calibration.dtype, calibration.latency > 0
    ('float64', True)
    """

    dtype: str
    cores: int
    rates: dict[str, dict[int, float]]
    latency: float
    seconds_per_byte: float
    seconds_per_byte_handed: float = 0.0
    date: str = ""
    load: float = 1.0

    def handed(self, scalars: float) -> float:
        """Return the seconds that scalars take from PEs to others of the same rank.

        Parameters
        ----------
        scalars : float
        """
        return scalars * np.dtype(self.dtype).itemsize * self.seconds_per_byte_handed

    def compute(self, operator: str, flops: float, extent: int) -> float:
        """Return the seconds that tiles of one extent take.

        Parameters
        ----------
        operator : {"matmul", "solve_triangular", "cholesky"}
        flops : float
            Floating-point operations of all tiles, as of real numbers.
        extent : int
            The smallest side of a tile, in scalars; between those measured the rate is interpolated.
        """
        known = self.rates[operator]
        sides = sorted(known)
        rate = float(np.interp(math.log2(max(extent, 1)), np.log2(sides), [known[side] for side in sides]))
        if extent < sides[0]:
            rate *= max(extent, 1) / sides[0]
        factor = 4 if self.dtype.startswith("complex") else 1
        return flops * factor / rate

    def message(self, scalars: float, count: float = 1) -> float:
        """Return the seconds of messages, one after the other.

        Parameters
        ----------
        scalars : float
            In all of them.
        count : float
            How many there are.
        """
        return count * self.latency + scalars * np.dtype(self.dtype).itemsize * self.seconds_per_byte

    def __str__(self) -> str:
        sides = sorted(next(iter(self.rates.values())))
        lines = [f"{self.dtype} on {self.cores} cores, GFLOP/s of one on tiles of {sides}:"]
        for name, known in self.rates.items():
            lines.append(f"  {name:16}" + "".join(f"{known[side] * 1e-9:8.2f}" for side in sides))
        rate = "no time" if self.seconds_per_byte == 0 else f"{1e-9 / self.seconds_per_byte:.2f} GB/s"
        text = (
            f"{self.latency * 1e6:.1f} us, then {rate}"
            if self.latency > 0
            else "not measured, there are no ranks"
        )
        lines.append(f"  messages: {text}")
        if self.date:
            lines.append(f"  measured {self.date}, wall time by processor time {self.load:.2f}")
        return "\n".join(lines)


# The same tiles again and again, each result the next operand: nothing but the operators takes time.


@kernel
def _products(A, B, count):  # type: ignore[no-untyped-def]
    C = cy.empty_like(A)
    C[0, 0] = sum(A[0, 0] @ B[0, 0] for t in range(count))
    return C


@kernel
def _solves(L, B, count):  # type: ignore[no-untyped-def]
    n, m = B.shape
    X = cy.empty((count + 1, n, m), dtype=B.dtype, tile=(1, n.tile, m.tile))
    Y = cy.empty_like(B)
    X[0, 0, 0] = B[0, 0]
    for t in range(count):
        X[t + 1, 0, 0] = cy.linalg.solve_triangular(L[0, 0], X[t, 0, 0])
    Y[0, 0] = X[count, 0, 0]
    return Y


@kernel
def _factors(A, count):  # type: ignore[no-untyped-def]
    n = A.shape[0]
    X = cy.empty((count + 1, n, n), dtype=A.dtype, tile=(1, n.tile, n.tile))
    L = cy.empty_like(A)
    X[0, 0, 0] = A[0, 0]
    for t in range(count):
        X[t + 1, 0, 0] = cy.linalg.cholesky(X[t, 0, 0])
    L[0, 0] = X[count, 0, 0]
    return L


@kernel
def _relay(A):  # type: ignore[no-untyped-def]
    X = cy.empty_like(A)
    X[0, 0] = A[0, 0]
    for i in range(1, A.shape[0]):
        X[i, 0] = X[i - 1, 0] + A[i, 0]
    return X


@kernel
def _hand_over(A, count):  # type: ignore[no-untyped-def]
    n, m = A.shape
    X = cy.empty((count, n, m), dtype=A.dtype, tile=(1, n.tile, m.tile))
    Y = cy.empty_like(A)
    for i in range(n):
        X[0, i, 0] = A[i, 0]
    for t in range(1, count):
        X[t, 0, 0] = -X[t - 1, 0, 0]
        for i in range(1, n):
            X[t, i, 0] = -X[t, i - 1, 0]
    for i in range(n):
        Y[i, 0] = X[count - 1, i, 0]
    return Y


_known: dict[str, Calibration] = {}
_differing: dict[str, int] = {}  # runs in turn that differ from the model, by dtype
_dropped: set[str] = set()  # dtypes of which this process has looked at that once


def calibrate(dtype: DTypeLike = "float64", *, refresh: bool = False) -> Calibration:
    """Measure kernels and messages; the second call returns what the first found.

    The figures are kept in the user's cache folder (``$XDG_CACHE_HOME/cyclotron``), for this machine, its
    BLAS and number of cores, its MPI library, and the computers of the two ranks that exchange messages.
    They are dated. They are measured again where others used the cores then, and in the next process where
    runs of `cyclotron.linalg` on ranks take more than 1.5 times what they tell, or less, in processor time.
    Under ``mpirun`` the call is collective and all ranks get the same figures.

    Parameters
    ----------
    dtype : dtype
        float32, float64, complex64 or complex128.
    refresh : bool
        Measure again.

    Returns
    -------
    Calibration
        Prints as a table. Without MPI messages take no time.

    Raises
    ------
    ShapeError
        If the dtype is another (CYC737).

    Examples
    --------
    >>> sorted(cy.calibrate().rates)
    ['cholesky', 'matmul', 'solve_triangular']
    """
    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError):
        name = shown(dtype)
    if name not in DTYPES:
        raise ShapeError(
            f"linear algebra is not calibrated for {name}", code="CYC737", help=f"use {', '.join(DTYPES)}"
        )
    if name in _known and not refresh:
        return _known[name]
    same, first, last = _agreement()
    file = _file(name, (same(platform.node()), same(platform.node(), min(1, last))))
    text = same("" if refresh or not first else _fresh(_read(file, name)))
    if not text:
        figures = json.loads(same(json.dumps(_figures(name)) if first else ""))
        messages = json.loads(same(json.dumps(_message_times(name))))  # all take part, the first one's count
        text = json.dumps({**figures, "messages": messages})
        if first and messages[0] > 0:  # else another call may have two ranks
            _write(file, text)
    _known[name] = _parsed(name, text)
    return _known[name]


def _parsed(name: str, text: str) -> Calibration:
    found = json.loads(text)
    rates = {
        operator: {int(side): float(rate) for side, rate in found["rates"][operator].items()}
        for operator in ("matmul", "solve_triangular", "cholesky")
    }
    latency, seconds_per_byte = map(float, found["messages"])
    if not all(rates.values()):
        raise ValueError("no rates")
    handed, load = float(found["handed"]), float(found["load"])
    datetime.fromisoformat(found["date"])
    return Calibration(name, threads(), rates, latency, seconds_per_byte, handed, found["date"], load)


def observe(dtype: str, expected: float, seconds: float) -> bool:
    """Compare the processor time of a run with what the model expects of it; drop figures that differ.

    The next process measures them again: that takes seconds, which no run should. Figures of less than an
    hour ago are kept, as it is not they that differ. Under ``mpirun`` all ranks observe the same run.

    Parameters
    ----------
    dtype : str
    expected, seconds : float
        Of the rank that computes most. What it waits for others, who may use its core too, is in neither.

    Returns
    -------
    bool
        Whether the figures were dropped.
    """
    if dtype not in DTYPES or dtype in _dropped or min(expected, seconds) < _SHORT_SECONDS:
        return False
    differs = not 1 / _DIFFERENCE <= seconds / expected <= _DIFFERENCE
    _differing[dtype] = _differing.get(dtype, 0) + 1 if differs else 0
    if _differing[dtype] < _DIFFERING_RUNS:
        return False
    _dropped.add(dtype)
    date = calibrate(dtype).date
    if not date or _age_seconds(date) < _YOUNG_SECONDS:
        return False
    same, first, last = _agreement()
    file = _file(dtype, (same(platform.node()), same(platform.node(), min(1, last))))
    if first:
        with contextlib.suppress(OSError):
            file.unlink()
    return True


def _fresh(text: str) -> str:
    """The figures, or nothing where others used the cores when they were measured, some time ago."""
    if not text:
        return ""
    found = json.loads(text)
    return "" if found["load"] > _BUSY and _age_seconds(found["date"]) > _SOON_SECONDS else text


def _age_seconds(date: str) -> float:
    return (datetime.now(timezone.utc) - datetime.fromisoformat(date)).total_seconds()


def _figures(dtype: str) -> dict[str, object]:
    """Rates, hand-overs and the load while they are measured."""
    wall, processor = time.perf_counter(), time.process_time()
    rates, handed = _rates(dtype), _seconds_per_byte_handed(dtype)
    load = (time.perf_counter() - wall) / max(time.process_time() - processor, 1e-9)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"rates": rates, "handed": handed, "date": date, "load": round(load, 2)}


def _seconds_per_byte_handed(dtype: str) -> float:
    """Processor seconds that each byte takes from PE to PE: of a row of them beside one PE alone."""
    tile = cy.blocked(np.ones((_PES * _SIDE_HANDED, _SIDE_HANDED), dtype), _SIDE_HANDED)

    def rounds(schedule: Schedule) -> float:
        many, one = (_hand_over.compile(tile, count, schedule=schedule) for count in (_ROUNDS, 2))
        return _busy(many) - _busy(one)

    apart, together = rounds(Schedule().space("i").time("t")), rounds(Schedule().time("t", "i"))
    moved = (_ROUNDS - 2) * (_PES - 1) * _SIDE_HANDED**2 * np.dtype(dtype).itemsize
    return max(apart - together, 0.0) / moved


def _agreement() -> tuple[Callable[..., str], bool, int]:
    """Return a function that gives all ranks the text of one, if this is the first, and which is the last."""
    if not mpi.is_collective():
        return (lambda text, rank=0: text), True, 0
    world = mpi.current()
    return world.same, world.rank == 0, world.ranks - 1


def _rates(dtype: str) -> dict[str, dict[int, float]]:
    """Floating-point operations a second of each kernel, by the extent of its tiles."""
    rates: dict[str, dict[int, float]] = {"matmul": {}, "solve_triangular": {}, "cholesky": {}}
    real_flops = 4 if dtype.startswith("complex") else 1
    for side in _EXTENTS:
        flops = {"matmul": 2 * side**3, "solve_triangular": side**3, "cholesky": side**3 / 3}
        many = 1 + min(_MOST_OPERATORS, max(_FEWEST_OPERATORS, _FLOPS // side**3))
        alone, together = _programs(dtype, side, 1), _programs(dtype, side, many)
        for name, one in flops.items():
            seconds = max(_busy(together[name]) - _busy(alone[name]), 1e-9)
            rates[name][side] = (many - 1) * one * real_flops / seconds
    return rates


def _programs(dtype: str, side: int, count: int) -> dict[str, Program]:
    """For each kernel a program on one PE that runs it so many times."""
    rng = np.random.default_rng(0)
    one = rng.standard_normal((side, side)).astype(dtype)
    # Next to the identity, and that itself: however many solves and factors neither grow nor vanish.
    unit = np.eye(side, dtype=dtype)
    tile, lower = cy.blocked(one, side), cy.blocked(unit + np.tril(one, -1) / (100 * side), side)
    in_turn = Schedule().time("t")
    return {
        "matmul": _products.compile(tile, tile, count, schedule=in_turn),
        "solve_triangular": _solves.compile(lower, tile, count, schedule=in_turn),
        "cholesky": _factors.compile(cy.blocked(unit, side), count, schedule=in_turn),
    }


def _busy(program: Program) -> float:
    """The least of some runs on one thread, in seconds of the processor: others may use it too."""

    def once() -> float:
        begun = time.process_time()
        run(program, backend="local", threads=1)
        return time.process_time() - begun

    return min(once() for _ in range(_RUNS))


def _message_times(dtype: str) -> tuple[float, float]:
    """Seconds of a message between two ranks, and of each byte; zeros where there are no two ranks."""
    seconds, (same, *_) = [], _agreement()
    for size in (_FEW_BYTES, _MANY_BYTES):
        side = math.isqrt(size // np.dtype(dtype).itemsize)
        tiles = np.zeros((_HOPS * side, side), dtype)
        program = _relay.compile(cy.blocked(tiles, side), schedule=Schedule().space("i"))
        try:
            if mpi.current().ranks < 2:
                return 0.0, 0.0
            least = {2: math.inf, 1: math.inf}  # seconds by ranks
            for number in range(_MOST_RUNS):  # where others use the cores, hops may seem to take no time
                if number >= _RUNS and same(str(least[2] > least[1])) == "True":
                    break
                for parts in least:
                    ranks = run(program, backend="mpi", deal=Layout((parts,), 1)).profile
                    least[parts] = min(least[parts], max(rank["seconds"] for rank in ranks))
        except BackendUnavailable:
            return 0.0, 0.0
        seconds.append(max(least[2] - least[1], _CLOCK_SECONDS) / (_HOPS - 1))
    per_byte = max(seconds[1] - seconds[0], 0.0) / (_MANY_BYTES - _FEW_BYTES)
    return seconds[0], per_byte


def _file(dtype: str, hosts: tuple[str, str]) -> Path:
    """The file of the figures of this machine, its BLAS and its MPI, and of messages between two hosts."""
    found = (_METHOD, hosts, platform.machine(), _core.blas_version(), threads(), _mpi_library())
    key = hashlib.sha256(repr(found).encode()).hexdigest()[:16]
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "cyclotron" / f"calibration-{dtype}-{key}.json"


def _mpi_library() -> str:
    """The version of the MPI library; nothing where there is none."""
    try:
        return str(extension.load().library_version())
    except BackendUnavailable:
        return ""


def _read(file: Path, dtype: str) -> str:
    """The text of the file, or nothing where there is none, or it is damaged."""
    try:
        text = file.read_text()
        _parsed(dtype, text)
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
        return ""
    return text


def _write(file: Path, text: str) -> None:
    """Keep the figures, where files can be written."""
    with contextlib.suppress(OSError, RuntimeError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, text)
