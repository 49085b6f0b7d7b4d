"""Random kernels under random schedules, sizes and channel depths: refused with a reason, or exact."""

import os
import random

import pytest
import random_search

COMBINATIONS = int(os.environ.get("CYCLOTRON_COMBINATIONS", "20000"))
SEED = int(os.environ.get("CYCLOTRON_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)


@pytest.mark.timeout(1200)
def test_refused_or_exact(capsys):
    """At least 20,000 combinations of kernel, schedule, sizes and depth; all verdicts and results agree."""
    outcome = random_search.search(SEED, COMBINATIONS, min(os.cpu_count() or 1, 8))
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {outcome.runs} combinations\n{outcome}")
    assert not outcome.failures, "\n\n".join(outcome.failures)
    assert outcome.runs >= COMBINATIONS
