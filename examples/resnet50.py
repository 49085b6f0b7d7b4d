"""ResNet-50's layers in int8 on two systolic arrays: cycles, utilisation and energy of each.

A layer is a product of matrices: a row for each filter, a column for each place of its image. Weights stay, a
block as large as the array at a time, while all places stream through: a fold, whose cycles and energy are
those of its simulation. Energies are those of 45 nm (Horowitz), operands in on-chip memory. Left out, as in
the machines: the way of weights into the array, accumulators of folds, and DRAM.
"""

import dataclasses
import functools
from itertools import product

import numpy as np

import cyclotron as cy

# K. He et al., "Deep residual learning for image recognition", table 1: blocks, places along a side, filters.
STAGES = ((3, 56, 64), (4, 28, 128), (6, 14, 256), (3, 7, 512))
BUFFER = {"default": cy.energies.horowitz_45nm(sram_kib=1024).sram_picojoules_per_byte}
ENERGY = dataclasses.replace(cy.energies.horowitz_45nm(), memory_picojoules_per_byte=BUFFER)


@cy.kernel
def fold(W, X):
    return cy.matmul(W, X, dtype="int32")


def layers():
    """Name, filters, length of the sums, and places of each product; and how many layers are like it."""
    yield "conv1", 64, 7 * 7 * 3, 112 * 112, 1
    channels = 64
    for number, (blocks, side, filters) in enumerate(STAGES, start=2):
        places, out = side * side, 4 * filters
        yield f"conv{number}_1 1x1 in", filters, channels, places, 1
        yield f"conv{number}_1 shortcut", out, channels, places, 1
        yield f"conv{number}_x 3x3", filters, 9 * filters, places, blocks
        yield f"conv{number}_x 1x1 out", out, filters, places, blocks
        yield f"conv{number}_x 1x1 in", filters, out, places, blocks - 1
        channels = out
    yield "fc1000", 1000, 2048, 1, 1


@functools.cache
def simulated(machine, rows, columns, places):
    """Cycles and picojoules of a fold."""
    specs = cy.spec((rows, columns), "int8"), cy.spec((columns, places), "int8")
    program = fold.compile(*specs, schedule=cy.schedules.weight_stationary(fold), machine=machine)
    return np.array([(run := cy.run(program, backend="sim", functional=False)).cycles, run.energy.total])


def check(machine):
    """A fold with numbers: NumPy's."""
    W, X = (np.random.default_rng(0).integers(-128, 128, shape, np.int8) for shape in ((16, 16), (16, 5)))
    program = fold.compile(W, X, schedule=cy.schedules.weight_stationary(fold), machine=machine)
    assert np.array_equal(cy.run(program, backend="sim").output, np.matmul(W, X, dtype=np.int32))


def line(machine, name, sizes, count, found):
    cycles, energy, work = found
    used = work / (machine.pe_count * cycles)
    columns = (*sizes, count, f"{cycles:,.0f}", f"{used:.1%}", f"{energy / 1e6:,.0f}")
    print(f"{name:17}" + "".join(f"{one:>11}" for one in columns))


def main():
    for array, name in ((cy.machines.gemmini_16(), "gemmini_16"), (cy.machines.tpu_v1(), "tpu_v1")):
        machine, total = dataclasses.replace(array, energy=ENERGY), np.zeros(3)
        check(machine)
        print(f"{name:17}    filters       sums     places     layers     cycles       used         µJ")
        for layer, *sizes, count in layers():
            steps = [range(0, sizes[d], machine.grid[d]) for d in (0, 1)]
            blocks = ([min(step.step, step.stop - b) for b in step] for step in steps)
            found = sum(simulated(machine, *block, sizes[2]) for block in product(*blocks))
            total += count * (found := np.array([*found, np.prod(sizes)]))
            line(machine, layer, sizes, count, found)
        line(machine, "all", [""] * 3, 54, total)


if __name__ == "__main__":
    main()
