"""Products, triangular solves and Cholesky on MPI ranks against ScaLAPACK, and against dgemm.

dgemm runs on one core alone, and on all ranks at once without a message between them: what the cores and
their memory can do together, the most that any product on these ranks can reach.

All run on the same BLAS, ranks and sizes, on data that are distributed before and after, in turn. ScaLAPACK
runs as shipped and tuned (PBLAS_NB=256), each with the best of some blocks and grids. Times are medians, of
the wall and of the processor: on a machine that others use too only the second means much, and it leaves out
what a rank waits asleep. `--dtype float32` compares in single precision, with sgemm.

`--path user` takes what a user of ScaLAPACK would: `cy.linalg` on matrices in ScaLAPACK's layout, with the
result in the same, for square blocks of 64, 128 and 256 and each grid of the ranks; tiles and schedules are
its own choice. Each cell stands beside tuned ScaLAPACK on the same layout: their ratios to dgemm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from common import write

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
BLOCKS = (64, 128, 192, 256)
TILES = {"gemm": (0,), "trsm": (64, 96, 128, 192, 256, 384), "cholesky": (64, 96, 128, 192, 256, 384)}
FLOPS = {"gemm": 2.0, "trsm": 1.0, "cholesky": 1 / 3}  # times n^3
PLAIN = {"float64": "dgemm", "float32": "sgemm"}


@dataclass
class Runner:
    """One way to run a kernel, with the (wall, processor) seconds it took."""

    name: str
    command: list[str]
    ranks: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    seconds: list[tuple[float, float]] = field(default_factory=list)
    residual: float = 0.0

    def run(self) -> None:
        """Launch it once more."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "OPENBLAS_NUM_THREADS": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_mpi_yield_when_idle": str(int(self.ranks > (os.cpu_count() or 1))),
            **self.environment,
        }
        if os.geteuid() == 0:  # as in a container; Open MPI asks to be told
            environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        command = ["mpirun", "-n", str(self.ranks), *self.command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        for line in done.stdout.splitlines():
            words = line.split()
            if words[0] == "residual":
                self.residual = float(words[1])
            elif len(words) == 2:
                self.seconds.append((float(words[0]), float(words[1])))

    def median(self, clock: int) -> float:
        """The median of the wall (0) or of the processor (1), in seconds."""
        return median(times[clock] for times in self.seconds)


CLOCKS = ("wall", "processor")


def fastest(candidates: list[Runner], clock: int) -> Runner:
    """Launch each once and keep the one that is fastest; one alone need not be launched."""
    if len(candidates) == 1:
        return candidates[0]
    for candidate in candidates:
        candidate.run()
    return min(candidates, key=lambda runner: runner.median(clock))


def cyclotron_runners(kernel: str, n: int, ranks: int, repeats: int, dtype: str = "float64") -> list[Runner]:
    script = str(FOLDER / "peers" / "ranks.py")
    return [
        Runner(
            f"tile {tile}", [sys.executable, script, kernel, str(n), str(tile), str(repeats), dtype], ranks
        )
        for tile in TILES[kernel]
        if tile < n
    ]


def scalapack_runners(peer: Path, kernel: str, n: int, ranks: int, repeats: int, nb: int) -> list[Runner]:
    shapes = [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]
    return [
        Runner(
            f"block {block}, grid {rows}x{columns}, PBLAS_NB={nb}",
            [str(peer), kernel, str(n), str(block), str(rows), str(columns), str(repeats)],
            ranks,
            {"PBLAS_NB": str(nb)},
        )
        for block in BLOCKS
        for rows, columns in shapes
        if block < n
    ]


def measure(
    peer: Path | None, kernel: str, n: int, ranks: int, rounds: int, repeats: int, clock: int, dtype: str
) -> dict[str, object]:
    """Run all in turn; return rates in GFLOP/s per rank and the ratios of Cyclotron's to the others'."""
    runners = {"cyclotron": fastest(cyclotron_runners(kernel, n, ranks, repeats, dtype), clock)}
    if peer is not None:
        for name, nb in (("scalapack", 32), ("scalapack_tuned", 256)):
            runners[name] = fastest(scalapack_runners(peer, kernel, n, ranks, repeats, nb), clock)
        for name, count in ((PLAIN[dtype], 1), (f"{PLAIN[dtype]}_on_all", ranks)):
            command = [str(peer), "dgemm", str(n), "0", "1", str(count), str(repeats)]
            runners[name] = Runner(f"{count} alone", command, count)
    else:
        runners["one_rank"] = cyclotron_runners("gemm", n, 1, repeats, dtype)[0]
    for _ in range(rounds):
        for runner in runners.values():
            runner.run()
    found: dict[str, object] = {"kernel": kernel, "n": n, "ranks": ranks, "dtype": dtype}
    for each, unit in enumerate(CLOCKS):
        rates = {}
        for name, runner in runners.items():
            flops = FLOPS["gemm" if name.startswith((PLAIN[dtype], "one_rank")) else kernel] * n**3
            rates[name] = flops / runner.ranks / runner.median(each) * 1e-9
        own = rates["cyclotron"]
        ratios = {name: own / rate for name, rate in rates.items() if name != "cyclotron"}
        found[unit] = {"gflops_per_rank": rates, "ratio_to": ratios}
        text = ", ".join(f"{ratio:.2f} of {name}" for name, ratio in ratios.items())
        print(
            f"{kernel:8} n={n:<5} {ranks} ranks, {unit:9}: {own:6.1f} GFLOP/s per rank; ratio {text}",
            flush=True,
        )
    found["settings"] = {name: runner.name for name, runner in runners.items()}
    found["residuals"] = {name: runner.residual for name, runner in runners.items()}
    return found


USER_BLOCKS = (64, 128, 256)


def measure_user(
    peer: Path | None, kernel: str, n: int, ranks: int, rounds: int, repeats: int, dtype: str
) -> list[dict[str, object]]:
    """Run `cy.linalg` on each of ScaLAPACK's layouts, beside ScaLAPACK and dgemm; return the figures."""
    script = str(FOLDER / "peers" / "user.py")
    shapes = [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]
    cells = [(block, grid) for block in USER_BLOCKS if block < n for grid in shapes] or [(n // 2, shapes[0])]
    alone: dict[str, Runner] = {}
    for name, count in ((PLAIN[dtype], 1), (f"{PLAIN[dtype]}_on_all", ranks)) if peer else ():
        command = [str(peer), "dgemm", str(n), "0", "1", str(count), str(repeats)]
        alone[name] = Runner(f"{count} alone", command, count)
    if not alone:
        alone["one_rank"] = cyclotron_runners("gemm", n, 1, repeats, dtype)[0]
    pairs: dict[tuple[int, tuple[int, int]], dict[str, Runner]] = {}
    for block, (rows, columns) in cells:
        sizes = [kernel, str(n), str(block), str(rows), str(columns), str(repeats)]
        name = f"block {block}, grid {rows}x{columns}"
        own = {"cyclotron": Runner(name, [sys.executable, script, *sizes, dtype], ranks)}
        if peer is not None:
            tuned = {"PBLAS_NB": "256"}
            own["scalapack_tuned"] = Runner(f"{name}, PBLAS_NB=256", [str(peer), *sizes], ranks, tuned)
        pairs[block, (rows, columns)] = own
    for _ in range(rounds):
        for runner in [*alone.values(), *(one for pair in pairs.values() for one in pair.values())]:
            runner.run()
    return [
        cell_figures(kernel, n, ranks, dtype, block, grid, {**pair, **alone})
        for (block, grid), pair in pairs.items()
    ]


def cell_figures(
    kernel: str, n: int, ranks: int, dtype: str, block: int, grid: tuple[int, int], runners: dict[str, Runner]
) -> dict[str, object]:
    """The rates of one layout, printed and returned, with the ratio to one core's dgemm of each."""
    found: dict[str, object] = {"kernel": kernel, "n": n, "ranks": ranks, "dtype": dtype}
    found |= {"block": block, "grid": list(grid)}
    plain = next(name for name in runners if name in (PLAIN[dtype], "one_rank"))
    for each, unit in enumerate(CLOCKS):
        rates = {
            name: FLOPS["gemm" if name.startswith((PLAIN[dtype], "one_rank")) else kernel]
            * n**3
            / runner.ranks
            / runner.median(each)
            * 1e-9
            for name, runner in runners.items()
        }
        ratios = {name: rate / rates[plain] for name, rate in rates.items()}
        found[unit] = {"gflops_per_rank": rates, f"ratio_to_{plain}": ratios}
        text = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items() if name != plain)
        print(
            f"{kernel:8} n={n:<5} block {block:<4} grid {grid[0]}x{grid[1]}, {unit:9}: of {plain} {text}",
            flush=True,
        )
    found["residuals"] = {name: runner.residual for name, runner in runners.items()}
    return found


def plot(path: Path, figures: list[dict]) -> None:
    """GFLOP/s per rank against the size, as Figures 15 and 17a of the Cyclotron paper."""
    from matplotlib.figure import Figure

    groups = sorted({(f["kernel"], f["ranks"]) for f in figures})
    figure = Figure(figsize=(4 * len(groups), 3.2), layout="constrained")
    for at, (kernel, ranks) in enumerate(groups):
        axes = figure.add_subplot(1, len(groups), at + 1)
        chosen = [f for f in figures if (f["kernel"], f["ranks"]) == (kernel, ranks)]
        for name in chosen[0]["wall"]["gflops_per_rank"]:
            rates = [f["wall"]["gflops_per_rank"][name] for f in chosen]
            axes.plot([f["n"] for f in chosen], rates, marker="o", label=name.replace("_", " "))
        axes.set(title=f"{kernel}, {ranks} ranks", xlabel="n", ylabel="GFLOP/s per rank", ylim=(0, None))
        axes.set_xticks([f["n"] for f in chosen])
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def find_peer(given: Path | None, dtype: str = "float64") -> Path | None:
    """The program that CMake builds where ScaLAPACK is installed."""
    build = Path(os.environ.get("CYCLOTRON_BUILD", ROOT / "build"))
    name = {"float64": "scalapack_peer", "float32": "scalapack_peer_float32"}[dtype]
    places = [given] if given else [build / "bench" / "peers" / name]
    places += sorted(build.glob(f"*/bench/peers/{name}"))
    return next((place.resolve() for place in places if place.is_file()), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--plot", type=Path, help="picture to draw")
    parser.add_argument("--quick", action="store_true", help="a small size, once")
    parser.add_argument("--peer", type=Path, help="the ScaLAPACK program, if it is not in the build folder")
    parser.add_argument("--kernels", nargs="+", default=["gemm", "trsm", "cholesky"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1024, 2048])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", choices=tuple(PLAIN), default="float64")
    parser.add_argument(
        "--path",
        choices=("best", "user"),
        default="best",
        help="hand-chosen layouts, or cy.linalg on its own",
    )
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what decides about tiles and blocks")
    arguments = parser.parse_args()
    sizes, ranks, rounds, repeats = arguments.sizes, arguments.ranks, arguments.rounds, 5
    if arguments.quick:
        sizes, ranks, rounds, repeats = [96], [2], 1, 1
    peer = find_peer(arguments.peer, arguments.dtype)
    print(f"OpenBLAS kernels: {os.environ.get('OPENBLAS_CORETYPE', 'as detected')}")
    if peer is None:
        print("ScaLAPACK is not built: install libscalapack-openmpi-dev and run cmake again")
    if arguments.path == "user":
        cells = [
            cell
            for kernel in arguments.kernels
            for count in ranks
            for n in sizes
            for cell in measure_user(peer, kernel, n, count, rounds, repeats, arguments.dtype)
        ]
        write(arguments.json, {"path": "user", "measured": cells})
        return
    figures = [
        measure(peer, kernel, n, count, rounds, repeats, CLOCKS.index(arguments.clock), arguments.dtype)
        for kernel in arguments.kernels
        for count in ranks
        for n in sizes
    ]
    write(arguments.json, {"measured": figures})
    if arguments.plot:
        plot(arguments.plot, figures)


if __name__ == "__main__":
    main()
