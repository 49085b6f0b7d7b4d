"""SCALE-Sim's cycle counts by simulation: some layers of a network on a 16x16 array, in its three dataflows.

The layers are a topology file of SCALE-Sim; `python examples/scale_sim.py conv2.png` draws how many PEs of
the weight-stationary array shift weights or multiply in each cycle of a fold of the second layer.
"""

import sys
import tempfile
from pathlib import Path

import cyclotron as cy

TOPOLOGY = """\
Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 32, 32, 5, 5, 3, 6, 1,
conv2, 14, 14, 5, 5, 6, 16, 1,
fc1, 1, 1, 1, 1, 400, 120, 1,
fc2, 1, 1, 1, 1, 120, 84, 1,
"""
ARRAY = 16, 16


def main(path="scale_sim.png"):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lenet.csv"
        file.write_text(TOPOLOGY)
        reports = {
            dataflow: cy.scale_sim(file, dataflow=dataflow, array=ARRAY) for dataflow in ("os", "ws", "is")
        }
    for dataflow, report in reports.items():
        print(f"{dataflow}: {report.cycles} cycles\n{report}\n")
    best = {
        layer.name: min(reports, key=lambda d: reports[d][n].cycles) for n, layer in enumerate(reports["os"])
    }
    print("fewest cycles:", ", ".join(f"{name} {dataflow}" for name, dataflow in best.items()))

    # A fold is a compiled program: it explains itself, runs with numbers on every backend, has timelines.
    fold = reports["ws"][1].program
    result = cy.run(fold, backend="sim", functional=False)
    print(f"\n{fold.explain()}")
    try:
        result.plot.activity(path=path)
        print(f"\nthe PEs that shift weights and multiply: {path}")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
