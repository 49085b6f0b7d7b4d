"""Conjugate gradients whose sums wait for one another no more, and run to the middle of the grid.

In the method of P. Ghysels and W. Vanroose ("Hiding global synchronization latency in the preconditioned
Conjugate Gradient algorithm", 2014) both sums of a step are of values that the step before has left, so that
they travel together, and the matrix product goes on meanwhile.
"""

import numpy as np
from conjugate_gradient import conjugate_gradient

import cyclotron as cy


@cy.kernel
def pipelined(b, steps):
    x, p, s, z = cy.zeros_like(b), cy.zeros_like(b), cy.zeros_like(b), cy.zeros_like(b)
    r = b.copy()
    w = 4 * r - cy.shift(r, 1, 0) - cy.shift(r, -1, 0) - cy.shift(r, 1, 1) - cy.shift(r, -1, 1)
    gamma, alpha = cy.zeros((steps + 1,)), cy.zeros((steps + 1,))
    gamma[0], alpha[0] = np.inf, 1.0
    for t in range(steps):
        gamma[t + 1] = cy.sum(r * r)
        delta = cy.sum(w * r)
        q = 4 * w - cy.shift(w, 1, 0) - cy.shift(w, -1, 0) - cy.shift(w, 1, 1) - cy.shift(w, -1, 1)
        beta = gamma[t + 1] / gamma[t]
        alpha[t + 1] = gamma[t + 1] / (delta - beta * gamma[t + 1] / alpha[t])
        z = q + beta * z  # A s
        s = w + beta * s  # A p
        p = r + beta * p
        x += alpha[t + 1] * p
        r -= alpha[t + 1] * s
        w -= alpha[t + 1] * z  # A r
    return x, gamma


def cycles_of_a_step(kernel, schedule, n, *arguments):
    """The second step's, past the filling of the grid."""
    machine = cy.machines.wse2(n + 1, n + 1)
    programs = (
        kernel.compile(cy.spec((n, n)), *arguments, steps, schedule=schedule, machine=machine)
        for steps in (2, 3)
    )
    two, three = (cy.run(program, backend="sim", functional=False).cycles for program in programs)
    return three - two


def main(side=64):
    n, steps = 8, 20
    b = np.zeros((n, n))
    b[2, 3], b[5, 6] = 1.0, -1.0  # a source and a sink
    in_order = cy.Schedule().space("i", "j").time("t")
    inwards = in_order.inwards("i", "j")  # from both ends of each line of PEs to its middle
    program = pipelined.compile(b, steps, schedule=inwards)
    for backend in ("sim", "local"):
        x, gamma = cy.run(program, backend=backend).outputs.values()
        # NumPy adds in another order, so that its last bits differ.
        np.testing.assert_allclose(x, pipelined.reference(b, steps)[0], atol=1e-13)
        np.testing.assert_allclose(x, conjugate_gradient.reference(b, 0.0, steps)[0], atol=1e-10)
    print(f"residual {np.sqrt(gamma[-1]):.1e} before step {steps}")
    print(f"cycles a step on {side} x {side} PEs, a point each:")
    print(f"{cycles_of_a_step(conjugate_gradient, in_order, side, 1e-12):6} conjugate gradients")
    print(f"{cycles_of_a_step(conjugate_gradient, inwards, side, 1e-12):6} with sums to the middle")
    print(f"{cycles_of_a_step(pipelined, in_order, side):6} pipelined")
    print(f"{cycles_of_a_step(pipelined, inwards, side):6} pipelined, with sums to the middle")


if __name__ == "__main__":
    main()
