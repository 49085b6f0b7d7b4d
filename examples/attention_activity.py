"""Activity of each PE of FlashAttention-2: products of tiles, then operations in place (Fig. 16b).

Each PE holds a tile of queries, while tiles of keys and values stream past. `python
examples/attention_activity.py timeline.png` draws the operations of each PE over time.
"""

import sys

import numpy as np
from flash_attention import SCHEDULES, attention

import cyclotron as cy

# A matrix unit makes a product of tiles in 64 cycles; the rest runs on two lanes.
MACHINE = cy.Machine(
    link=cy.Link(words_per_cycle=64, depth=4), pe=cy.PE(cycles=dict.fromkeys(("matmul", "matmul_add"), 64))
)


def simulate(queries, keys, tile=8):
    """Attend from so many tiles of queries, a PE each, to so many tiles of keys."""
    Q, K = (cy.blocked(np.ones((tile * n, tile)), (tile, tile)) for n in (queries, keys))
    M = cy.blocked(np.ones((tile * queries, tile * keys), bool), (tile, tile))
    program = attention.compile(
        Q, K, K, M, 0.25, schedule=SCHEDULES["keys and values streamed"], machine=MACHINE
    )
    return cy.run(program, backend="sim")


def sequence(result, pe):
    """The operators that a PE executes, in order."""
    return [str(event["operator"]) for event in result.events if event["pe"] == pe]


def steps(operators):
    """The sequence cut before each product of queries and keys, which its scale follows."""
    starts = [n for n in range(len(operators) - 1) if operators[n : n + 2] == ["matmul", "multiply"]]
    return [operators[a:b] for a, b in zip(starts, [*starts[1:], len(operators)], strict=True)]


def main(path="attention_activity.png"):
    result = simulate(8, 4)
    every = [sequence(result, pe) for pe in range(8)]
    print(f"8 tiles of queries, 4 of keys: {result.cycles:,} cycles")
    print("utilisation of each PE:", " ".join(f"{share:.1%}" for share in result.utilization))
    print(f"all PEs execute the same {len(every[0])} operations:", all(one == every[0] for one in every))
    print("\none PE's cycles by operator:")
    for name, cycles in sorted(result.stats["busy_by_operator"].items(), key=lambda item: -item[1][0]):
        print(f"  {name:10} {cycles[0]:5}")
    print("\nits sequence for the second tile of keys:\n  " + " ".join(steps(every[0])[1]))
    try:
        result.plot.timeline(path=path)
        print(f"\nall PEs over time: {path}")
    except cy.BackendUnavailable as error:
        print(f"\nno picture: {error.message}")


if __name__ == "__main__":
    main(*sys.argv[1:])
