"""Random illegal inputs: all refused, each with the right class and a witness that brute force confirms."""

import collections
import concurrent.futures
import gc
import itertools
import multiprocessing
import os
import random
import sys
import tempfile
from pathlib import Path

import pytest
import random_faults
import random_names
import random_orders
import random_search
from random_search import SEED

# Illegal inputs: kernels that break assignment, cover or bounds; schedules that break a
# dependence or a link; names, shapes, dtypes and machines that do not fit.
SHARES = {random_faults: 0.25, random_orders: 0.3, random_names: 0.45}
WANTED = int(os.environ.get("CYCLOTRON_REFUSALS", "1000"))
CHUNK = 40  # cases


def judged(module_name, seed, chunk):
    """The codes of one chunk of cases, counted, and what is wrong."""
    codes, faults = collections.Counter(), []
    module = sys.modules[module_name]
    with tempfile.TemporaryDirectory() as folder:
        load = random_search.Judge(Path(folder)).kernel
        for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
            for code, fault in module.case(random.Random(f"{seed}/{module_name}/{number}"), load):
                codes[code] += 1
                if fault:
                    faults.append(f"CYCLOTRON_SEED={seed}, {module_name} case {number}: {code}\n{fault}")
    return codes, faults


@pytest.mark.timeout(600)
@pytest.mark.parametrize("module", SHARES, ids=lambda module: module.__name__)
def test_refused_for_the_reason_given(module, capsys):
    """That many illegal inputs over the three kinds; every witness is a violation indeed."""
    wanted = int(WANTED * SHARES[module])
    codes, faults = collections.Counter(), []
    workers = min(os.cpu_count() or 1, 8)
    context = multiprocessing.get_context("spawn")
    chunks = itertools.count()
    with concurrent.futures.ProcessPoolExecutor(workers, context, gc.freeze) as pool:
        running = {pool.submit(judged, module.__name__, SEED, next(chunks)) for _ in range(workers)}
        while running:
            done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            for future in done:
                found, wrong = future.result()
                codes += found
                faults += wrong
                if codes.total() < wanted and len(faults) < 5:
                    running.add(pool.submit(judged, module.__name__, SEED, next(chunks)))
    with capsys.disabled():
        print(f"\nCYCLOTRON_SEED={SEED}: {codes.total()} illegal inputs, {dict(codes.most_common())}")
    assert not faults, "\n\n".join(faults[:5])
    assert codes.total() >= wanted
