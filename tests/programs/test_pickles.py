"""Programs, results and kernels between processes."""

import copy
import pickle

import kernels
import numpy as np
import pytest

import cyclotron as cy

A, B = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5)


class Scaled:
    factor = 2.0

    @cy.kernel
    def product(self, A):
        C = cy.empty_like(A)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                C[i, j] = self.factor * A[i, j]
        return C


scaled = Scaled()


def again(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(
    "machine", [None, cy.Machine(grid=(2, 3), link=cy.Link(latency=5, depth=4))], ids=str
)
def test_a_program_is_the_loaded_one(machine, tmp_path):
    schedule = cy.schedules.output_stationary(kernels.matmul)  # on all PEs of the machine
    program = kernels.matmul.compile(A, B, schedule=schedule, machine=machine)
    program.save(tmp_path / "p.cyc")
    loaded, found = cy.load(tmp_path / "p.cyc"), again(program)
    assert str(found) == str(loaded) == str(program)
    assert found.machine == loaded.machine
    assert loaded.machine == (machine or cy.Machine.from_core(program.core.machine))
    assert loaded.machine.link == program.machine.link
    run = cy.run(found, A, B, backend="sim")
    np.testing.assert_array_equal(run.output, A @ B)
    assert run.cycles == cy.run(program, backend="sim").cycles


@pytest.mark.parametrize("options", [{"backend": "local"}, {"backend": "sim"}, {"backend": "numpy"}], ids=str)
def test_a_result_has_all_that_it_had(options):
    result = cy.run(kernels.matmul.compile(A, B), **options)
    found = again(result)
    np.testing.assert_array_equal(found.output, result.output)
    assert repr(found) == repr(result)
    if options["backend"] == "sim":
        assert str(found.accounting()) == str(result.accounting())
        np.testing.assert_array_equal(found.events, result.events)
        for name in ("busy", "stall_empty", "flops", "words_loaded"):
            np.testing.assert_array_equal(found.stats[name], result.stats[name])


def test_a_kernel_is_its_name():
    assert again(kernels.matmul) is kernels.matmul
    assert copy.deepcopy(kernels.matmul) is kernels.matmul
    np.testing.assert_array_equal(again(scaled.product)(A), 2 * A)

    @cy.kernel
    def local(A):
        return A

    with pytest.raises((pickle.PicklingError, AttributeError)):  # as functions of functions
        pickle.dumps(local)


def test_a_copied_program_keeps_its_arrays() -> None:
    program = kernels.matmul.compile(A, B)
    for copied in (copy.copy(program), copy.deepcopy(program)):
        np.testing.assert_array_equal(cy.run(copied).output, cy.run(program, backend="numpy").output)
