"""Laws of the accounting of any run."""

import numpy as np


def check(result):
    """In each PE all causes add up, and those of channels to what the simulator counts without messages."""
    found = result.accounting()
    everything = [*found.busy.values(), found.start, *found.empty.values(), *found.full.values()]
    everything += [*found.link.values(), found.unit, found.port]
    np.testing.assert_array_equal(sum(everything) + found.memory + found.control + found.done, result.cycles)
    np.testing.assert_array_equal(sum(found.link.values()) + 0 * found.done, result.stats["stall_link"])
    np.testing.assert_array_equal(found.start + sum(found.empty.values()), result.stats["stall_empty"])
    np.testing.assert_array_equal(sum(found.full.values()) + 0 * found.done, result.stats["stall_full"])
    assert all((cycles >= 0).all() for cycles in everything)
    return found
