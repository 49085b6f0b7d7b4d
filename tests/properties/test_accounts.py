"""The cycles of random programs on random machines, by cause."""

import itertools
import random

import accounts
import pytest
import random_machines
from random_search import SEED

import cyclotron as cy


@pytest.mark.timeout(600)
def test_all_causes_add_up_on_random_machines(tmp_path):
    rng = random.Random(SEED)
    ended = 0
    for program in itertools.islice(random_machines.programs(SEED, tmp_path), 40):
        try:
            result = cy.run(random_machines.retimed(rng, program), backend="sim", functional=False)
        except cy.DeadlockError:
            continue
        accounts.check(result)
        ended += 1
    assert ended > 20
