"""Arrays of the host that kernels read: what is no tensor, does not fit, or would be changed."""

import numpy as np

import cyclotron as cy

W = np.arange(4.0)
LONG = np.arange(5.0)
TEXTS = np.array(["a", "b", "c", "d"])
SEVERAL = [np.ones(4)]
MASKED = np.ma.masked_greater(W, 2)


@cy.kernel
def assigned_element(x):
    for i in range(4):
        W[i] = x[i]  # error: CYC106
    return x + 1


@cy.kernel
def changed_in_place(x):
    W[1:] += 1  # error: CYC106
    return x * W


@cy.kernel
def assigned_in_a_list(x):
    SEVERAL[0][0] = 5  # error: CYC106
    return x + SEVERAL[0]


@cy.kernel
def sorted_in_place(x):
    W.sort()  # error: CYC106
    return x + W


@cy.kernel
def written_into(x):
    np.add(W, 1, out=W)  # error: CYC106
    return x + W


@cy.kernel
def counted_beyond_its_dtype(x):
    return x + cy.arange(2_999_999_998, 3_000_000_002, dtype="int32")  # error: CYC120


@cy.kernel
def counted_beyond_all(x):
    return x + cy.arange(2**63, 2**63 + 4)  # error: CYC120


@cy.kernel
def made_and_assigned_by_index(x):
    w = np.linspace(0, 1, 4)
    v = w[:]
    for i in range(4):
        v[i] = 2.0  # error: CYC106
    return x * w


@cy.kernel
def of_text(x):
    return x * TEXTS  # error: CYC120


@cy.kernel
def masked(x):
    return cy.maximum(x, MASKED)  # error: CYC107


@cy.kernel
def of_another_shape(x):
    return x * LONG  # error: CYC122


@cy.kernel
def subscripted_outside(x):
    y = cy.empty_like(x)
    for i in range(4):
        y[i] = W[i + 1, 0]  # error: CYC108
    return y


@cy.kernel
def read_in_a_helper(x):
    y = cy.empty_like(x)
    for i in range(4):
        y[i] = x[i] * HELPERS["w"](i)
    return y


class Helper:
    """Reads the array of an object of the host, which knows no index of a loop."""

    w = W

    def __call__(self, i):
        """The element at an index."""
        return self.w[i]  # error: CYC110


HELPERS = {"w": Helper()}
