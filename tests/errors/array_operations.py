"""Operations on whole arrays that NumPy has, or refuses, and kernels do not have."""

import numpy as np

import cyclotron as cy


@cy.kernel
def dot_of_stacks(T):
    return np.dot(T, T)  # error: CYC122


@cy.kernel
def outer_of_matrices(A, x):
    return np.outer(A, x)  # error: CYC122


@cy.kernel
def shrunk_by_a_product(A):
    A @= A[:, 1:]  # error: CYC122
    return A


@cy.kernel
def axes_dropped_in_place(x):
    x += x[None, ::-1]  # error: CYC122
    return x


@cy.kernel
def negative_truth(mask):
    return -mask  # error: CYC121


@cy.kernel
def constant_too_large(counts):
    return counts + 2**40  # error: CYC120


@cy.kernel
def choice_too_large(counts):
    return cy.where(counts > 0, counts, -(2**40))  # error: CYC120


@cy.kernel
def transposed_by_one_axis(A):
    return A.transpose(1)  # error: CYC122


@cy.kernel
def step_zero(x):
    return x[::0]  # error: CYC107


@cy.kernel
def half_a_bound(x):
    return x[1:2.5]  # error: CYC103


@cy.kernel
def rolled_by_too_many(A):
    return cy.roll(A, (1, 2, 3), axis=(0, 1))  # error: CYC122


@cy.kernel
def axis_by_name(A):
    return cy.sum(A, axis="x")  # error: CYC122


@cy.kernel
def sum_from_a_start(A):
    return np.sum(A, out=A[0, 0])  # error: CYC105


@cy.kernel
def method_with_a_place(A):
    return A.sum(0, "float32", A[0])  # error: CYC105


@cy.kernel
def nuclear_norm(A):
    return np.linalg.norm(A, "nuc")  # error: CYC122


@cy.kernel
def joined_shapes(A, x):
    return np.concatenate([A, x[None, 1:]])  # error: CYC122


@cy.kernel
def padded_by_means(A):
    return np.pad(A, 1, mode="mean")  # error: CYC122


@cy.kernel
def padded_along_other_axes(A):
    return cy.pad(A, ((1, 1),) * 3)  # error: CYC122


@cy.kernel
def trace_of_a_vector(x):
    return np.trace(x)  # error: CYC122


@cy.kernel
def places_in_order(x):
    return np.partition(x, 2)  # error: CYC105


@cy.kernel
def result_given(x):
    return np.add(x, x, out=x)  # error: CYC105


@cy.kernel
def positions_of_a_mask(x):
    return np.where(x > 0)  # error: CYC105


@cy.kernel
def rounded(x):
    return round(x)  # error: CYC105


@cy.kernel
def quotient_and_rest(x):
    return divmod(x, 2)  # error: CYC114


@cy.kernel
def transpose_assigned(A):
    A.T = A + 1  # error: CYC107
    return A


@cy.kernel
def expression_in_place(x):
    return increased(x)


def increased(a):
    b = a * 2
    b += 1  # error: CYC107
    return b


@cy.kernel
def numbers_between(x):
    return x + cy.geomspace(x[0], 2, x.shape[0])  # error: CYC105


@cy.kernel
def numbers_by_data(x):
    return cy.arange(x[0])  # error: CYC122


@cy.kernel
def function_misspelt(x):
    return cy.summ(x)  # error: CYC105


ARGUMENTS = {"T": cy.spec((2, 2, 2)), "mask": cy.spec(4, "bool"), "counts": cy.spec(4, "int32")}
