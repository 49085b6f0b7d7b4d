"""Kernels on 8x8 PEs, by exhaustive enumeration: no mapping is better than the one that `cy.map` finds.

What the enumeration does not compile cannot beat the best by its number of PEs alone. Where mappings take
long to compile, or are many, it has each n-th.
"""

from __future__ import annotations

import exhaustive_mapping as exhaustive
import mapped_kernels as kernels
import pytest

import cyclotron as cy

MACHINE = cy.Machine(grid=(8, 8), link=cy.Link(depth=1 << 20), pe=cy.PE(memory=1 << 20))
# Those whose enumeration takes a minute at most.
GEMMS = [
    *[(8, 8, 8), (8, 8, 3), (4, 4, 4), (7, 7, 7), (5, 7, 6), (6, 5, 7), (8, 8, 2), (8, 8, 1)],
    *[(16, 8, 4), (8, 16, 4)],
]
CONVOLUTIONS = [(8, 8, 3, 3), (16, 8, 3, 3), (4, 4, 2, 2), (7, 5, 3, 2), (6, 9, 2, 3)]
SOLVES, FACTORS, TENSORS = [(8, 8), (16, 4), (5, 7)], [5, 6, 8], [(4, 4, 4, 4), (8, 3, 3, 8), (5, 2, 3, 6)]
ATTENTIONS = [(4, 4, 2, 2), (3, 5, 2, 2), (5, 3, 2, 3), (8, 4, 2, 2), (4, 8, 2, 2)]


def cases() -> dict[str, tuple[kernels.Case, int, int]]:
    """Each case, its operations at least, and how many mappings one stands for."""
    result = {}
    for m, n, k in GEMMS:
        result[f"gemm {m}x{n}x{k}"] = kernels.gemm(m, n, k), m * n * k, 1
    for n, m, e, f in ATTENTIONS:
        result[f"attention {n}x{m}, {e} and {f}"] = kernels.attend(n, m, e, f), n * m * (e + f + 1), 61
    for rows, columns, r, s in CONVOLUTIONS:
        result[f"convolution {rows}x{columns}, {r}x{s}"] = (
            kernels.convolution(rows, columns, r, s),
            rows * columns * r * s,
            3,
        )
    for n, m in SOLVES:
        result[f"solve {n}x{m}"] = kernels.solve(n, m), m * n * (n + 1) // 2, 211
    for n in FACTORS:
        result[f"factor {n}"] = kernels.factor(n), n * (n + 1) * (n + 2) // 6, 47
    for i, j, k, r in TENSORS:
        result[f"tensor {i}x{j}x{k}, {r}"] = kernels.krp(i, j, k, r), i * j * k * r, 199
    return result


CASES = cases()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_no_mapping_is_better_on_8x8(name):
    case, operations, every = CASES[name]
    true, legal = exhaustive.best(
        case.kernel, case.args, case.extents, case.tensors, MACHINE, every, operations
    )
    found = cy.map(case.kernel, *case.args, machine=MACHINE, time_limit=None, candidates=60)
    print(f"{name}: {true} of {legal}, found {found[0].cycles}, at least {found.bound}, gap {found.gap:.0%}")
    assert found[0].cycles <= 1.02 * true
    assert found.bound <= min(true, found[0].cycles)
    assert (found[0].cycles - true) / found[0].cycles <= found.gap
