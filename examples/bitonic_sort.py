"""Bitonic sort: a network of comparisons on a line of PEs, an element a PE, its partners at powers of two."""

import numpy as np
from pictures import canvas, draw

import cyclotron as cy


@cy.kernel
def bitonic_sort(x):
    for block, distance in stages(len(x)):
        y = cy.empty_like(x)
        for i in range(len(x)):
            partner = i ^ distance
            if (i & block == 0) == (
                i < partner
            ):  # the lower one of a pair in an ascending block, or the upper one
                y[i] = min(x[i], x[partner])
            else:
                y[i] = max(x[i], x[partner])
        x = y
    return x


def stages(n):
    """The lengths of blocks that are merged, with the distances of the elements that are compared."""
    bits = n.bit_length()
    return [(2**k, 2**j) for k in range(1, bits) for j in reversed(range(k))]


def main():
    n = 16
    x = np.random.default_rng(2).permutation(n).astype(float)
    program = bitonic_sort.compile(x)
    result = cy.run(program, backend="sim")
    assert np.array_equal(result.output, np.sort(x))
    pes = int(np.prod(program.grid))
    print(f"{n} elements on {pes} PEs: {len(stages(n))} stages in {result.cycles} cycles")

    axis = canvas(1, 7, 3.2)
    if axis is None:
        return
    columns = [x]
    for block, distance in stages(n):
        i = np.arange(n)
        partner = columns[-1][i ^ distance]
        lower = (i & block == 0) == (i & distance == 0)
        columns.append(np.where(lower, np.minimum(columns[-1], partner), np.maximum(columns[-1], partner)))
    picture = draw(axis, np.array(columns).T, "after each stage", cmap="viridis", aspect="auto")
    axis.set(xlabel="stage", ylabel="PE")
    axis.figure.colorbar(picture, ax=axis, label="value")
    axis.figure.savefig("bitonic_sort.png", dpi=120)
    print("the elements after each stage: bitonic_sort.png")


if __name__ == "__main__":
    main()
