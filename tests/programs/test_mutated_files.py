"""Files with one wrong instruction are refused when read or run; no fault of theirs is called our own."""

import os
import random

import cases
import mutants
import pytest

import cyclotron as cy

SEED = int(os.environ.get("CYCLOTRON_SEED", "1"))
CASES = list({case.name.rsplit("/", 1)[0]: case for case in cases.all_cases()}.values())


def fault_of(action):
    try:
        action()
    except cy.CyclotronError as error:
        return error
    return None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_wrong_instructions_are_refused_or_run(case):
    program = case.compile()
    generator = random.Random(f"{SEED} {case.name}")
    for what, data in mutants.sample(program, 6, generator):
        fault = fault_of(lambda data=data: mutants.read(data))
        if fault is None:
            read = mutants.read(data)
            for backend in ("sim", "local"):
                fault = fault_of(lambda: cy.run(read, *mutants.inputs(program), backend=backend))
                assert not isinstance(fault, cy.InternalError), f"{what} on {backend}: {fault}"
        assert not isinstance(fault, cy.InternalError), f"{what}: {fault}"
