"""The independent checker: every program is proven, and what it proves is told."""

import os
import signal
import threading

import cases
import kernels
import numpy as np
import pytest

import cyclotron as cy

CASES = list(cases.all_cases())
PROPERTIES = ["structure", "bounds", "reads", "outputs", "messages", "deadlock", "rendezvous", "terms"]


@cy.kernel
def late_exchange(A):
    T, n = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            if t < 5:
                X[t, i] = A[t, i]
            elif i == 0:
                X[t, i] = X[t - 5, i + 1]
            elif i == n - 1:
                X[t, i] = X[t - 5, i - 1]
            else:
                X[t, i] = X[t - 5, i - 1] + X[t - 5, i + 1]
    return X


def compile_late(depth):
    machine = cy.Machine(link=cy.Link(depth=depth))
    program = late_exchange.compile(np.ones((12, 4)), schedule=cy.Schedule().space("i"))
    return program.with_machine(machine)  # compiled for it, messages would be sent late


def matmul(n, schedule=None):
    schedule = schedule or cy.schedules.weight_stationary(kernels.matmul)
    return kernels.matmul.compile(cy.spec((n, n)), cy.spec((n, n)), schedule=schedule)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_case_is_proven(case):
    proof = cy.prove(case.compile())
    assert proof.ok
    assert [p.name for p in proof] == PROPERTIES
    assert all(p.status == "proven" for p in proof if p.name != "rendezvous")
    assert proof.events > 0


def test_a_proof_prints():
    proof = cy.prove(matmul(4))
    assert str(proof).splitlines()[0] == f"matmul: proven, {proof.events} events, {proof.terms} terms"
    assert "terms       proven         every stored element" in str(proof)
    assert proof._repr_html_().count("<tr>") == 1 + len(PROPERTIES)
    assert proof["deadlock"].status == "proven"


def test_a_loaded_program_has_no_terms_to_compare_with(tmp_path):
    matmul(4).save(tmp_path / "program.cyc")
    loaded = cy.load(tmp_path / "program.cyc")
    proof = cy.prove(loaded)
    assert not proof.ok
    assert [p.name for p in proof if p.status != "proven"] == ["terms"]
    assert "the recurrences are not at hand" in proof["terms"].text
    assert proof["reads"].text in loaded.verify()


def test_a_large_program_says_so():
    program = matmul(24)
    proof = cy.prove(program, limit=1000)
    assert not proof.ok
    assert {p.status for p in proof if p.name != "structure"} == {"not checked"}
    assert "the limit is 1000" in proof["terms"].text
    assert cy.prove(program).ok
    with pytest.raises(cy.CapacityError) as caught:
        program.least_depths(limit=1000)
    assert caught.value.code == "CYC669"


def test_verify_lists_what_is_proven():
    terms = "every stored element is the very tree of operations of its equation, for all data"
    assert terms in matmul(8).verify()
    large = matmul(24)  # too large for every `verify`
    assert terms not in large.verify()
    assert terms in large.verify(exhaustive=True)


def test_too_shallow_channels():
    program = compile_late(2)
    with pytest.raises(cy.DeadlockError) as caught:
        cy.prove(program)
    assert caught.value.code == "CYC802"
    assert "wait for each other in a circle" in caught.value.message
    assert "to send on" in caught.value.notes[0][1]
    assert caught.value.span is not None
    with pytest.raises(cy.DeadlockError):
        program.verify()
    with pytest.raises(cy.DeadlockError):
        cy.run(program, backend="sim")
    assert cy.prove(compile_late(5)).ok
    assert cy.prove(compile_late(5))["rendezvous"].status == "does not hold"


def test_least_depths():
    program = compile_late(2)
    depths = program.least_depths()
    assert not depths.passes_as_given
    assert not depths.rendezvous
    table = str(depths).splitlines()
    assert table[0].split() == ["channel", "queues", "messages", "given", "least", "no", "stall"]
    assert len(table) == 2 + len(program.channels)
    assert table[-1] == "as given it deadlocks; with depth 0 (rendezvous) it deadlocks"
    assert depths._repr_html_().count("<tr>") == 1 + len(program.channels)
    assert [c.name for c in depths.channels] == [c["name"] for c in program.channels]
    assert all(c.given == 2 for c in depths.channels)
    # The depth for all that the simulator's deadlock names is what no channel needs more than.
    assert max(c.least for c in depths.channels) >= 5
    assert depths[depths.channels[0].name] == depths.channels[0]
    assert compile_late(5).least_depths().passes_as_given


@pytest.mark.parametrize("name", ["output-stationary", "weight-stationary", "summa", "reduction-in-space"])
def test_depths_without_a_stall(name):
    """As deep as the table says, a machine runs as fast as with channels that are never full."""

    def run(depth):
        machine = cy.Machine(
            link=cy.Link(depth=depth, latency=2, response_latency=2), broadcast=cy.Link(depth=depth)
        )
        A = np.arange(30.0).reshape(5, 6)
        program = kernels.matmul.compile(A, A.T.copy(), schedule=cases.MATMUL[name], machine=machine)
        return program, cy.run(program, backend="sim")

    program, unlimited = run(1000)
    depth = max(c.no_stall for c in program.least_depths().channels)
    assert run(depth)[1].cycles == unlimited.cycles
    assert (run(depth)[1].stats["stall_full"] == unlimited.stats["stall_full"]).all()
    if depth > 1:
        assert (run(depth - 1)[1].stats["stall_full"] != unlimited.stats["stall_full"]).any()


def test_a_program_of_other_recurrences():
    """The recurrences of another kernel with tensors of the same names and shapes."""

    @cy.kernel
    def matmul_from_the_end(A, B):
        C = cy.empty((A.shape[0], B.shape[1]))
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                C[i, j] = sum(A[i, 3 - k] @ B[3 - k, j] for k in range(4))
        return C

    other = matmul_from_the_end.compile(cy.spec((4, 4)), cy.spec((4, 4)))
    mixed = cy.Program(matmul(4).core, recurrences=other.recurrences)
    with pytest.raises(cy.LegalityError) as caught:
        cy.prove(mixed)
    assert caught.value.code == "CYC665"
    notes = [text for _, text in caught.value.notes]
    assert notes[0].startswith("at instruction ")
    assert "the equation gives " in notes[1]
    assert "A[0, 3]" in notes[1]
    mixed = cy.Program(matmul(5).core, recurrences=other.recurrences)
    with pytest.raises(cy.LegalityError) as caught:
        cy.prove(mixed)
    assert caught.value.code == "CYC666"


@pytest.mark.parametrize("check", [cy.prove, cy.Program.least_depths])
def test_a_long_check_obeys_an_interrupt(check):
    program = matmul(80)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        check(program)
    timer.join()
    assert cy.prove(matmul(4)).ok


def test_a_rotated_reduction_is_proven_but_for_its_order():
    schedule = cy.schedules.cannon(kernels.matmul)
    machine = cy.Machine(grid=(4, 4), topology="torus")
    program = kernels.matmul.compile(cy.spec((4, 4)), cy.spec((4, 4)), schedule=schedule, machine=machine)
    proof = cy.prove(program)
    assert not proof.ok
    assert [p.name for p in proof if p.status == "not checked"] == ["terms"]
    assert "rotates a reduction" in proof["terms"].text
