"""The heat equation as array statements, on threads and ranks, against NumPy and loops written by hand in C.

Nanoseconds a point and step: of NumPy (the kernel's own body), of C (one pass over the points, compiled with
-O3 -march=native; nothing where there is no C compiler), of `backend="local"` on one thread and on two, and,
for more steps, of `backend="mpi"` on one rank and on two, where MPI is; a block of rows each. Arrays go to
the ranks and come back: that takes as long as some steps, and no less on two. Ratios are time over ours, so
above 1 where Cyclotron is faster; bounds 3 and 0.7 on one core, and 1.7 for two ranks.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
from common import medians, options, write
from numpy.typing import NDArray

import cyclotron as cy

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from heat import heat

LOOPS = """
void heat(double* restrict u, double* restrict v, long n, long steps, double c) {
  for (long t = 0; t < steps; ++t) {
    for (long i = 1; i < n - 1; ++i) {
      const double *up = u + (i - 1) * n, *row = u + i * n, *down = u + (i + 1) * n;
      double* out = v + i * n;
      for (long j = 1; j < n - 1; ++j)
        out[j] = row[j] + c * (((up[j] + down[j]) + row[j - 1] + row[j + 1]) - 4 * row[j]);
    }
    double* const last = u;
    u = v;
    v = last;
  }
}
"""
FACTOR = 0.2

Stencil = Callable[[NDArray[np.float64], int], NDArray[np.float64]]
Way = tuple[Stencil, NDArray[np.float64], int]  # with its array and steps


def loops_in_c() -> Stencil | None:
    """The loops, compiled; an even number of steps ends in the first array."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("no C compiler: no comparison with C")
        return None
    folder = Path(tempfile.mkdtemp())
    source, library = folder / "heat.c", folder / "heat.so"
    source.write_text(LOOPS)
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, source, "-o", library], check=True)
    function = ctypes.CDLL(str(library)).heat
    array = np.ctypeslib.ndpointer(np.float64, flags="C")
    function.argtypes = [array, array, ctypes.c_long, ctypes.c_long, ctypes.c_double]
    function.restype = None
    shutil.rmtree(folder)

    def run(u: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
        a, b = u.copy(), u.copy()
        function(a, b, len(u), steps, FACTOR)
        return a

    return run


def in_blocks(u: NDArray[np.float64], steps: int, blocks: int, backend: Literal["local", "mpi"]) -> Stencil:
    """A block of rows a thread or rank."""
    schedule = cy.Schedule().space("i", "j").time("t").fold(i=cy.block(blocks), j=cy.block(1))
    program = heat.compile(u, steps, FACTOR, schedule=schedule)
    workers = {"threads": blocks} if backend == "local" else {"ranks": blocks}

    def run(u: NDArray[np.float64], _: int) -> NDArray[np.float64]:
        output: NDArray[np.float64] = cy.run(program, u, backend=backend, **workers).output
        return output

    return run


def has_mpi() -> bool:
    """Tell whether ranks can be had."""
    try:
        in_blocks(np.ones((4, 4)), 2, 2, "mpi")(np.ones((4, 4)), 2)
    except cy.BackendUnavailable as error:
        print(f"no comparison of ranks: {error}")
        return False
    return True


def main() -> None:
    arguments = options(__doc__)
    n, steps, runs = (66, 4, 1) if arguments.quick else (2048, 20, 5)
    u = np.random.default_rng(0).random((n, n))
    many = 5 * steps
    ways: dict[str, Way] = {
        "numpy": (lambda u, steps: np.asarray(heat.reference(u, steps, FACTOR)), u, steps),
        "one_thread": (in_blocks(u, steps, 1, "local"), u, steps),
        "two_threads": (in_blocks(u, steps, 2, "local"), u, steps),
    }
    compiled = loops_in_c()
    if compiled is not None:
        ways["c"] = (compiled, u, steps)
    if has_mpi():
        ways["one_rank"] = (in_blocks(u, many, 1, "mpi"), u, many)
        ways["two_ranks"] = (in_blocks(u, many, 2, "mpi"), u, many)
    for name, (stencil, array, times) in ways.items():
        expected = heat.reference(array, times, FACTOR)
        assert np.array_equal(stencil(array, times), expected), name

    def timed(way: Way) -> Callable[[], float]:
        stencil, array, times = way

        def measure() -> float:
            start = time.perf_counter()
            stencil(array, times)
            return (time.perf_counter() - start) / (array.size * times) * 1e9

        return measure

    # Ranks by themselves: what others do for seconds between two runs costs the large arrays their pages.
    on_ranks = {name: timed(way) for name, way in ways.items() if name.endswith(("_rank", "_ranks"))}
    figures = medians(runs, **{name: timed(way) for name, way in ways.items() if name not in on_ranks})
    if on_ranks:
        figures |= medians(runs, **on_ranks)
    for name, nanoseconds in figures.items():
        print(f"{name.replace('_', ' '):12} {nanoseconds:7.2f} ns a point and step")
    ours = figures["one_thread"]
    print(
        f"ratio to NumPy on one thread {figures['numpy'] / ours:.2f} (bound 3), two threads "
        f"{figures['numpy'] / figures['two_threads']:.2f}"
    )
    if "c" in figures:
        print(f"ratio to C on one thread {figures['c'] / ours:.2f} (bound 0.7)")
    if "two_ranks" in figures:
        print(f"two ranks to one {figures['one_rank'] / figures['two_ranks']:.2f} (bound 1.7)")
    write(arguments.json, figures)


if __name__ == "__main__":
    main()
