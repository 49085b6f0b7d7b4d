"""The sweeps and stencils of PolyBench/C 4.2.1, as imperative loop nests written from their formulas."""

import cyclotron as cy


@cy.kernel
def deriche(image, a, b):
    """`a` holds the eight feed-forward and `b` the two feedback coefficients."""
    w, h = image.shape
    y1 = cy.empty((w, h))
    y2 = cy.empty((w, h))
    out = cy.empty((w, h))
    x1 = cy.empty(1)
    x2 = cy.empty(1)
    f1 = cy.empty(1)
    f2 = cy.empty(1)
    for i in range(w):
        f1[0] = 0
        f2[0] = 0
        x1[0] = 0
        for j in range(h):
            y1[i, j] = a[0] * image[i, j] + a[1] * x1[0] + b[0] * f1[0] + b[1] * f2[0]
            x1[0] = image[i, j]
            f2[0] = f1[0]
            f1[0] = y1[i, j]
    for i in range(w):
        f1[0] = 0
        f2[0] = 0
        x1[0] = 0
        x2[0] = 0
        for j in range(h - 1, -1, -1):
            y2[i, j] = a[2] * x1[0] + a[3] * x2[0] + b[0] * f1[0] + b[1] * f2[0]
            x2[0] = x1[0]
            x1[0] = image[i, j]
            f2[0] = f1[0]
            f1[0] = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]
    for j in range(h):
        x1[0] = 0
        f1[0] = 0
        f2[0] = 0
        for i in range(w):
            y1[i, j] = a[4] * out[i, j] + a[5] * x1[0] + b[0] * f1[0] + b[1] * f2[0]
            x1[0] = out[i, j]
            f2[0] = f1[0]
            f1[0] = y1[i, j]
    for j in range(h):
        x1[0] = 0
        x2[0] = 0
        f1[0] = 0
        f2[0] = 0
        for i in range(w - 1, -1, -1):
            y2[i, j] = a[6] * x1[0] + a[7] * x2[0] + b[0] * f1[0] + b[1] * f2[0]
            x2[0] = x1[0]
            x1[0] = out[i, j]
            f2[0] = f1[0]
            f1[0] = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]
    return out


@cy.kernel
def adi(u, steps):
    n = u.shape[0]
    v = cy.zeros((n, n))
    p = cy.zeros((n, n))
    q = cy.zeros((n, n))
    for _t in range(steps):
        for i in range(1, n - 1):
            v[0, i] = 1
            p[i, 0] = 0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = 0.5 / (0.25 * p[i, j - 1] + 2)
                q[i, j] = (0.75 * u[j, i - 1] + 0.5 * u[j, i] + 0.75 * u[j, i + 1] + 0.5 * q[i, j - 1]) / (
                    0.25 * p[i, j - 1] + 2
                )
            v[n - 1, i] = 1
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1
            p[i, 0] = 0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = 0.75 / (0.5 * p[i, j - 1] + 2)
                q[i, j] = (0.5 * v[i - 1, j] + 0.5 * v[i, j] + 0.5 * v[i + 1, j] + 0.75 * q[i, j - 1]) / (
                    0.5 * p[i, j - 1] + 2
                )
            u[i, n - 1] = 1
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


@cy.kernel
def jacobi_1d(A, B, steps):
    n = A.shape[0]
    for t in range(steps):
        for i in range(1, n - 1):
            B[i] = 0.25 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.25 * (B[i - 1] + B[i] + B[i + 1])
    return A, B


@cy.kernel
def jacobi_2d(A, B, steps):
    n, m = A.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                B[i, j] = 0.25 * (A[i, j] + A[i, j - 1] + A[i, 1 + j] + A[1 + i, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = 0.25 * (B[i, j] + B[i, j - 1] + B[i, 1 + j] + B[1 + i, j] + B[i - 1, j])
    return A, B


@cy.kernel
def heat_3d(A, B, steps):
    n, m, o = A.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, o - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, o - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )
    return A, B


@cy.kernel
def seidel_2d(A, steps):
    n, m = A.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) * 0.125
    return A


@cy.kernel
def fdtd_2d(ex, ey, hz, source):
    n, m = ex.shape
    for t in range(source.shape[0]):
        for j in range(m):
            ey[0, j] = source[t]
        for i in range(1, n):
            for j in range(m):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(n - 1):
            for j in range(m - 1):
                hz[i, j] -= 0.5 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return ex, ey, hz
