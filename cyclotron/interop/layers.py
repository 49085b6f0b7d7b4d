"""Layers of neural networks as kernels: their loops and tensors are what schedules name."""

from __future__ import annotations

from cyclotron.kernel import kernel
from cyclotron.language import empty, exp, maximum, tanh

__all__ = ["attention", "average_pool", "convolution", "linear", "max_pool", "relu", "sigmoid", "tangent"]


@kernel
def linear(x, weight, bias):  # type: ignore[no-untyped-def]
    """Rows n of x times the outputs o of the weights, plus a bias, which may be None."""
    y = empty((x.shape[0], weight.shape[0]), x.dtype)
    for n in range(x.shape[0]):
        for o in range(weight.shape[0]):
            total = sum(x[n, i] * weight[o, i] for i in range(x.shape[1]))
            if bias is None:
                y[n, o] = total
            else:
                y[n, o] = total + bias[o]
    return y


@kernel
def convolution(  # type: ignore[no-untyped-def]
    x, weight, bias, P, Q, stride_p, stride_q, pad_p, pad_q, step_r, step_s
):
    """Images n, filters k in groups g, pixels p and q; the sum over channels c and the window r, s.

    What the window has outside of the image counts nothing: there is no copy with a border of zeros.
    """
    N, C, height, width = x.shape
    K, channels, R, S = weight.shape
    filters = K * channels // C
    y = empty((N, K, P, Q), x.dtype)
    for n in range(N):
        for g in range(C // channels):
            for k in range(filters):
                for p in range(P):
                    for q in range(Q):
                        total = sum(
                            x[
                                n,
                                g * channels + c,
                                p * stride_p + r * step_r - pad_p,
                                q * stride_q + s * step_s - pad_q,
                            ]
                            * weight[g * filters + k, c, r, s]
                            for c in range(channels)
                            for r in range(R)
                            for s in range(S)
                            if 0 <= p * stride_p + r * step_r - pad_p < height
                            and 0 <= q * stride_q + s * step_s - pad_q < width
                        )
                        if bias is None:
                            y[n, g * filters + k, p, q] = total
                        else:
                            y[n, g * filters + k, p, q] = total + bias[g * filters + k]
    return y


@kernel
def attention(x, heads, batch, batch_step, step, scale):  # type: ignore[no-untyped-def]
    """Attention of sequences b in heads h: queries i, keys and values j, features d.

    A row of x has queries, keys and values beside each other; position i of sequence b is row
    b * batch_step + i * step.
    """
    width = x.shape[1] // 3
    D, L = width // heads, x.shape[0] // batch
    score, weight = (empty((batch, heads, L, L), x.dtype) for _ in range(2))
    top, total = (empty((batch, heads, L), x.dtype) for _ in range(2))
    y = empty((batch * L, width), x.dtype)
    for b in range(batch):
        for h in range(heads):
            for i in range(L):
                for j in range(L):
                    score[b, h, i, j] = scale * sum(
                        x[b * batch_step + i * step, h * D + d]
                        * x[b * batch_step + j * step, width + h * D + d]
                        for d in range(D)
                    )
                top[b, h, i] = max(score[b, h, i, j] for j in range(L))
                for j in range(L):
                    weight[b, h, i, j] = exp(score[b, h, i, j] - top[b, h, i])
                total[b, h, i] = sum(weight[b, h, i, j] for j in range(L))
                for d in range(D):
                    y[b * batch_step + i * step, h * D + d] = (
                        sum(
                            weight[b, h, i, j] * x[b * batch_step + j * step, 2 * width + h * D + d]
                            for j in range(L)
                        )
                        / total[b, h, i]
                    )
    return y


@kernel
def max_pool(x, P, Q, R, S, stride_p, stride_q):  # type: ignore[no-untyped-def]
    """The largest element of each window of R by S."""
    y = empty((*x.shape[:2], P, Q), x.dtype)
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            for p in range(P):
                for q in range(Q):
                    y[n, c, p, q] = max(
                        x[n, c, p * stride_p + r, q * stride_q + s] for r in range(R) for s in range(S)
                    )
    return y


@kernel
def average_pool(x, P, Q, R, S, stride_p, stride_q):  # type: ignore[no-untyped-def]
    """The mean of each window of R by S."""
    y = empty((*x.shape[:2], P, Q), x.dtype)
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            for p in range(P):
                for q in range(Q):
                    y[n, c, p, q] = sum(
                        x[n, c, p * stride_p + r, q * stride_q + s] for r in range(R) for s in range(S)
                    ) / (R * S)
    return y


@kernel
def relu(x):  # type: ignore[no-untyped-def]
    """The larger of an element and 0."""
    return maximum(x, 0)


@kernel
def sigmoid(x):  # type: ignore[no-untyped-def]
    """One over one plus the exponential of minus an element."""
    return 1 / (1 + exp(-x))


@kernel
def tangent(x):  # type: ignore[no-untyped-def]
    """The hyperbolic tangent of an element."""
    return tanh(x)
