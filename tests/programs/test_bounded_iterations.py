"""Iterations that numbers bound: no wrong program is proven (MA-128)."""

from __future__ import annotations

import numpy as np
import pytest
from mutants import changed_file, mutants, read, text_of

import cyclotron as cy

ROWS = cy.Schedule().space("i")


@cy.kernel
def scaled(x, y, stop):
    x[:, :stop] = y[:, :stop] * 2 + 1
    return x


@cy.kernel
def again(x, y, stop):
    for _ in range(2):
        x[:, :stop] += y[:, :stop]
    return x


@cy.kernel
def between(x, y, stop):
    x[:, 1:stop] = cy.sqrt(y[:, 1:stop]) - x[:, 1:stop]
    return x


@cy.kernel
def sums(x, y, stop):
    n = x.shape[0]
    total = cy.zeros(n)
    for i in range(n):
        total[i] = cy.sum(x[i, : stop[i]] * y[i, : stop[i]])
    return total


def other_bounds(program):
    """The program with each bound turned round, moved by one, or by another number."""
    data = program.core.to_bytes()
    text, values = text_of(data)
    for c, pe_class in enumerate(text["classes"]):
        for at, instruction in enumerate(pe_class["code"]):
            for b in range(len(instruction.get("within", ()))):
                for what in ("last", "form", "number", "gone"):
                    changed, _ = text_of(data)
                    own = changed["classes"][c]["code"][at]["within"]
                    if what == "last":
                        own[b]["last"] = not own[b]["last"]
                    elif what == "form":
                        own[b]["form"][0] += 1
                    elif what == "number":
                        slots = pe_class["slots"]
                        names = [n for n, slot in enumerate(slots) if slot["dtype"] == "int64"]
                        own[b]["number"]["slot"] = next(n for n in names if n != own[b]["number"]["slot"])
                    else:
                        del own[b]
                    yield f"{what} {b} at {at} of class {c}", changed_file(data, changed, values)


def same_results(program, wrong, x, y):
    for stop in ([0, 0], [1, 4], [4, 2], [-1, 3], [-9, 9]):
        arrays = (x, y, np.array(stop))
        found = [cy.run(one, *arrays, backend="sim").output for one in (program, wrong)]
        if not np.array_equal(*found):
            return False
    return True


@pytest.mark.parametrize("kernel", [scaled, again, between, sums], ids=lambda kernel: kernel.__name__)
def test_only_what_is_the_same_is_proven(kernel):
    x, y = np.random.default_rng(3).random((2, 2, 4)) + 1
    program = kernel.compile(x, y, np.zeros(2, int), schedule=ROWS)
    assert "within" in program.core.to_bytes().decode("latin1")
    assert cy.prove(program).ok
    refused = 0
    for what, data in (*other_bounds(program), *mutants(program)):
        try:
            wrong = read(data)
            proof = cy.prove(cy.Program(wrong.core, recurrences=program.recurrences))
        except cy.CyclotronError:
            refused += 1
            continue
        assert not proof.ok or same_results(program, wrong, x, y), what
        refused += not proof.ok
    assert refused > 20
