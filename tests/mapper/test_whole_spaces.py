"""Whole spaces of small kernels on 8x8 PEs: `cy.map` against every mapping of the enumeration.

Left out are those alone whose PEs are too few for the operators of the kernel's text. Loops of kernels with
three indices are in all orders. All cases together take a quarter of an hour.
"""

from __future__ import annotations

import exhaustive_mapping as exhaustive
import mapped_kernels as kernels
import pytest

import cyclotron as cy

MACHINE = cy.Machine(grid=(8, 8), link=cy.Link(depth=1 << 20), pe=cy.PE(memory=1 << 20))
CONVOLUTIONS = [(2, 2, 2, 2), (3, 2, 2, 2), (2, 5, 2, 1), (3, 3, 1, 2), (4, 3, 2, 1)]
ATTENTIONS = [(2, 2, 1, 1), (2, 2, 2, 1), (2, 2, 1, 2), (3, 2, 1, 1), (2, 2, 2, 2)]
SOLVES, FACTORS, TENSORS = [(3, 2), (4, 3), (5, 2)], [3, 4, 5], [(2, 2, 2, 2), (2, 1, 3, 2), (3, 2, 1, 2)]


def cases() -> dict[str, tuple[kernels.Case, int]]:
    """Each case, and its operators at least: a difference may be one with the sum in it."""
    result = {}
    for n, m in SOLVES:
        result[f"solve {n}x{m}"] = kernels.solve(n, m), m * n * (n + 1) // 2
    for n in FACTORS:
        result[f"factor {n}"] = kernels.factor(n), n * (n + 1) * (n + 2) // 6
    for i, j, k, r in TENSORS:
        result[f"tensor {i}x{j}x{k}, {r}"] = kernels.krp(i, j, k, r), i * j * k * r
    for rows, columns, r, s in CONVOLUTIONS:
        case = kernels.convolution(rows, columns, r, s)
        result[f"convolution {rows}x{columns}, {r}x{s}"] = case, rows * columns * r * s
    for n, m, e, f in ATTENTIONS:
        of_scores, of_rows = n * m * (e + 2 + f), n * (2 * (m - 1) + f)
        result[f"attention {n}x{m}, {e} and {f}"] = kernels.attend(n, m, e, f), of_scores + of_rows
    return result


CASES = cases()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", CASES)
def test_no_mapping_is_better_than_the_best(name):
    """Of so few cycles, what is within 2 % is equal."""
    case, operations = CASES[name]
    true, legal = exhaustive.best(
        case.kernel,
        case.args,
        case.extents,
        case.tensors,
        MACHINE,
        operations=operations,
        in_orders=len(case.extents) == 3,
    )
    found = cy.map(case.kernel, *case.args, machine=MACHINE, time_limit=None, candidates=60)
    print(f"{name}: {true} of {legal}, found {found[0].cycles}, at least {found.bound}, gap {found.gap:.0%}")
    assert found[0].cycles <= 1.02 * true
    assert found.bound <= min(true, found[0].cycles)
    assert (found[0].cycles - true) / found[0].cycles <= found.gap
