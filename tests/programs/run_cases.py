"""Runs under mpirun: every saved program of a folder, collectively, compared with the simulator's bits.

mpirun -n 4 python run_cases.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import cyclotron as cy


def main(folder: Path) -> None:
    wrong = []
    paths = sorted(folder.glob("*.cyc"))
    for path in paths:
        program = cy.load(path)
        with np.load(path.with_suffix(".npz")) as arrays:
            inputs = [arrays[f"input{n}"] for n in range(len(arrays) - 1)]
            expected = arrays["expected"]
        output = cy.run(program, *inputs, backend="mpi").output
        if output.tobytes() != expected.tobytes():
            wrong.append(path.stem)
    # One write a rank, so that lines stay whole.
    sys.stdout.write(f"{len(paths)} programs, {len(wrong)} wrong {wrong[:3]}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
