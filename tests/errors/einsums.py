"""Subscripts of einsum that do not fit."""

import cyclotron as cy


@cy.kernel
def unknown_index(A, B):
    C = cy.einsum("ik,kj->il", A, B)  # error: CYC123
    return C


@cy.kernel
def result_twice(A):
    C = cy.einsum("ij->ii", A)  # error: CYC123
    return C


@cy.kernel
def ellipsis(A, B):
    C = cy.einsum("...k,kj->...j", A, B)  # error: CYC123
    return C


@cy.kernel
def missing_operand(A):
    C = cy.einsum("ik,kj->ij", A)  # error: CYC123
    return C


@cy.kernel
def too_few_letters(A, x):
    C = cy.einsum("ik,k->i", A, A)  # error: CYC123
    return C


@cy.kernel
def other_size(A, z):
    C = cy.einsum("ik,k->i", A, z)  # error: CYC122
    return C


@cy.kernel
def element(A, x):
    C = cy.einsum("i,->i", x, A[0, 0])  # error: CYC105
    return C


@cy.kernel
def trace_of_tiles(T):
    C = cy.einsum("ii->", T)  # error: CYC105
    return C


@cy.kernel
def inside_a_loop(T):
    R = cy.empty_like(T)
    for i in range(2):
        C = cy.einsum("ij->ji", T)  # error: CYC115
        R[i, 0] = C[i, 0]
    return R


ARGUMENTS = {"z": cy.spec(5), "T": cy.spec((4, 4), tile=2)}
