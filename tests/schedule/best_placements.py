"""Cycles of default schedules beside those of the best placements, found by trying all of them.

    python tests/schedule/best_placements.py             a table of the kernels of `day_one` and `day_two`
    python tests/schedule/best_placements.py gru lu      of these

Exits with 1 where a default takes twice the best cycles, or 1.25 times for more than a tenth of the kernels.
"""

import itertools
import sys
import time
import warnings

import day_one
import day_two

import cyclotron as cy
from cyclotron import _core

CASES = {**day_one.CASES, **day_two.CASES}


def cycles_of(program):
    return cy.run(program, backend="sim", functional=False).cycles


def specs(name):
    return [cy.spec(shape) for shape in CASES[name][1]]


def schedules(system):
    """Every placement of at most two indices, and with reductions inwards where any order will do."""
    names, free = _core.index_names(system), set(_core.indices_in_any_order(system))
    for space in [(), *itertools.permutations(names, 1), *itertools.combinations(names, 2)]:
        schedule = cy.Schedule().space(*space) if space else cy.Schedule()
        yield schedule
        if free & set(space):
            yield schedule.inwards(*(free & set(space)))


def best_of(name):
    """The fewest cycles of all schedules that compile, and the schedule."""
    kernel, found = CASES[name][0], []
    for schedule in schedules(kernel.recurrences(*specs(name)).core):
        try:
            found.append((cycles_of(kernel.compile(*specs(name), schedule=schedule)), schedule))
        except cy.CyclotronError:
            continue
    return min(found, key=lambda pair: pair[0])


def main():
    warnings.simplefilter("ignore", cy.PerformanceWarning)
    ratios = []
    print(f"{'kernel':22} {'default':>8} {'best':>8} {'ratio':>6} {'compiled in':>12}  schedules")
    for name in sys.argv[1:] or CASES:
        start = time.process_time()
        program = CASES[name][0].compile(*specs(name))
        seconds = time.process_time() - start
        default, (best, schedule) = cycles_of(program), best_of(name)
        ratios.append(default / best)
        text = " ".join(str(one).partition(";")[0] for one in (program.schedule, schedule))
        print(f"{name:22} {default:8} {best:8} {ratios[-1]:6.2f} {seconds:10.2f} s  {text}", flush=True)
    near = sum(ratio <= 1.25 for ratio in ratios)
    print(f"{near} of {len(ratios)} within 1.25 times the best; the most is {max(ratios):.2f}")
    return 0 if near >= 0.9 * len(ratios) and max(ratios) <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
