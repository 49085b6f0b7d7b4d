"""The heat equation as array statements, in blocks on threads, against NumPy and loops written by hand in C.

Nanoseconds a point and step: of NumPy (the kernel's own body), of C (one pass over the points, compiled with
-O3 -march=native; nothing where there is no C compiler) and of `backend="local"` on one thread and on two.
Ratios are time over ours, so above 1 where Cyclotron is faster; bounds 3 and 0.7 on one core.
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


def on_threads(u: NDArray[np.float64], steps: int, threads: int) -> Stencil:
    """A block of rows a thread."""
    schedule = cy.Schedule().space("i", "j").time("t").fold(i=cy.block(threads), j=cy.block(1))
    program = heat.compile(u, steps, FACTOR, schedule=schedule)

    def run(u: NDArray[np.float64], _: int) -> NDArray[np.float64]:
        output: NDArray[np.float64] = cy.run(program, u, backend="local", threads=threads).output
        return output

    return run


def main() -> None:
    arguments = options(__doc__)
    n, steps, runs = (66, 4, 1) if arguments.quick else (2048, 20, 5)
    u = np.random.default_rng(0).random((n, n))
    ways: dict[str, Stencil] = {
        "numpy": lambda u, steps: np.asarray(heat.reference(u, steps, FACTOR)),
        "one_thread": on_threads(u, steps, 1),
        "two_threads": on_threads(u, steps, 2),
    }
    compiled = loops_in_c()
    if compiled is not None:
        ways["c"] = compiled
    expected = ways["numpy"](u, steps)
    for name, way in ways.items():
        assert np.array_equal(way(u, steps), expected), name

    def timed(way: Stencil) -> Callable[[], float]:
        def measure() -> float:
            start = time.perf_counter()
            way(u, steps)
            return (time.perf_counter() - start) / (n * n * steps) * 1e9

        return measure

    figures = medians(runs, **{name: timed(way) for name, way in ways.items()})
    for name, nanoseconds in figures.items():
        print(f"{name.replace('_', ' '):12} {nanoseconds:7.2f} ns a point and step")
    ours = figures["one_thread"]
    print(
        f"ratio to NumPy on one thread {figures['numpy'] / ours:.2f} (bound 3), two threads "
        f"{figures['numpy'] / figures['two_threads']:.2f}"
    )
    if "c" in figures:
        print(f"ratio to C on one thread {figures['c'] / ours:.2f} (bound 0.7)")
    write(arguments.json, figures)


if __name__ == "__main__":
    main()
