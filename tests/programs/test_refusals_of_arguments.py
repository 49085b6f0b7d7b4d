"""Wrong arguments of public functions are refused by an error of ours, with what to give instead."""

import kernels
import numpy as np
import pytest

import cyclotron as cy

EYE = np.eye(3)


def simulated():
    return cy.run(kernels.matmul.compile(EYE, EYE), backend="sim")


@cy.kernel
def doubled(A):
    B = cy.empty_like(A)
    for i in range(A.shape[0]):
        B[i] = 2 * A[i]
    return B


def of_size(n):
    return doubled.compile(cy.spec((n,)), schedule=cy.Schedule().time("i"))


REFUSED = {
    "proof-of-no-program": ("CYC621", lambda: cy.prove("x")),
    "prediction-of-no-program": ("CYC621", lambda: cy.predict("x", ranks=2)),
    "arrays-of-no-kernel": ("CYC116", lambda: cy.systolic_arrays(3, EYE)),
    "scale-sim-of-one-extent": ("CYC740", lambda: cy.scale_sim(5, 6, 7, array=4)),
    "spec-of-a-name": ("CYC122", lambda: cy.spec((3, "x"))),
    "spec-of-a-fraction": ("CYC122", lambda: cy.spec(2.5)),
    "spec-of-a-negative-size": ("CYC122", lambda: cy.spec((-1, 3))),
    "spec-of-no-dtype": ("CYC120", lambda: cy.spec((3,), "nope")),
    "size-beyond-the-core": ("CYC122", lambda: of_size(2**62)),
    "size-beyond-64-bits": ("CYC122", lambda: of_size(2**80)),
    "call-without-numbers": ("CYC710", lambda: kernels.matmul(cy.spec((3, 3)), EYE)),
    "roofline-of-text": ("CYC718", lambda: simulated().plot.roofline("x")),
    "backend-of-an-operator": ("CYC737", lambda: cy.linalg.lu(EYE, backend="local")),
    "option-of-an-inverse": ("CYC737", lambda: cy.linalg.inv_triangular(EYE, uplo="L")),
    "program-file-that-is-missing": ("CYC601", lambda: cy.load("missing.cyc")),
    "program-file-that-is-no-path": ("CYC601", lambda: cy.load(3)),
    "machine-file-that-is-no-path": ("CYC402", lambda: cy.Machine.load(3)),
    "schedule-file-that-is-no-path": ("CYC301", lambda: cy.Schedule.load(3)),
    "topology-file-that-is-missing": ("CYC741", lambda: cy.scale_sim("missing.csv")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, golden_refusal):
    code, action = REFUSED[name]
    golden_refusal(name, cy.CyclotronError, code, action)


def test_a_topology_that_is_no_text(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(cy.ShapeError, match="no text") as caught:
        cy.scale_sim(tmp_path / "t.csv")
    assert caught.value.code == "CYC741"
