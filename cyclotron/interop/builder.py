"""Layers that follow each other, collected while the shape of what passes through them is followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from cyclotron.interop import layers
from cyclotron.interop.network import Layer, unfit_input
from cyclotron.kernel import Kernel
from cyclotron.language import spec
from cyclotron.support.arguments import shown
from cyclotron.support.errors import ShapeError, TraceError
from cyclotron.support.tables import cell

Shape = tuple[int, ...]


class Builder:
    """The layers of a network of another tool, each added for the shape of its input.

    Every method that adds one takes its name and that shape, and returns the shape of its output.

    Parameters
    ----------
    dtype : str
        Of all inputs and weights.

    Attributes
    ----------
    layers : list of Layer
    """

    def __init__(self, dtype: str) -> None:
        self.layers: list[Layer] = []
        self._dtype = dtype

    def elementwise(self, name: str, shape: Shape, kernel: Kernel[..., Any]) -> Shape:
        """Add a function of each element."""
        return self._add(name, kernel, shape, shape, 0)

    def product(self, name: str, shape: Shape, weight: NDArray[Any], bias: NDArray[Any] | None) -> Shape:
        """Add a product with weights, outputs by inputs, of the last axis of the input."""
        outputs, inputs = weight.shape
        if shape[-1:] != (inputs,):
            raise unfit(name, shape, f"its last axis has to be {inputs}")
        rows = math.prod(shape[:-1])
        return self._add(
            name,
            layers.linear,
            (rows, inputs),
            (*shape[:-1], outputs),
            rows * inputs * outputs,
            weight=weight,
            bias=bias,
        )

    def convolution(
        self,
        name: str,
        shape: Shape,
        weight: NDArray[Any],
        bias: NDArray[Any] | None,
        *,
        groups: int,
        strides: Sequence[int],
        steps: Sequence[int],
        before: Sequence[int],
        after: Sequence[int],
    ) -> Shape:
        """Add a convolution of images, whose rows and columns get borders of zeros before and after them."""
        images = _images(name, shape, weight.shape[1] * groups)
        spans = [step * (size - 1) for step, size in zip(steps, weight.shape[2:], strict=True)]
        sizes = [
            (size + first + last - span - 1) // stride + 1
            for size, first, last, span, stride in zip(images[2:], before, after, spans, strides, strict=True)
        ]
        if min(sizes) < 1:
            raise unfit(name, shape, "the filters are larger than the image")
        output = (images[0], weight.shape[0], *sizes)
        return self._add(
            name,
            layers.convolution,
            images,
            output[4 - len(shape) :],
            math.prod(output) * math.prod(weight.shape[1:]),
            weight=weight,
            bias=bias,
            **dict(zip(("P", "Q"), sizes, strict=True)),
            **dict(zip(("stride_p", "stride_q"), strides, strict=True)),
            **dict(zip(("pad_p", "pad_q"), before, strict=True)),
            **dict(zip(("step_r", "step_s"), steps, strict=True)),
        )

    def pool(
        self,
        name: str,
        shape: Shape,
        kernel: Kernel[..., Any],
        windows: Sequence[int] | None,
        strides: Sequence[int],
    ) -> Shape:
        """Add a maximum or mean of windows inside of images; without windows, of each image."""
        images = _images(name, shape, None)
        windows = images[2:] if windows is None else windows
        P, Q = (
            (size - window) // stride + 1
            for size, window, stride in zip(images[2:], windows, strides, strict=True)
        )
        if min(P, Q) < 1:
            raise unfit(name, shape, "the windows are larger than the image")
        output = (*images[:2], P, Q)[4 - len(shape) :]
        sizes = dict(zip(("R", "S"), windows, strict=True))
        steps = dict(zip(("stride_p", "stride_q"), strides, strict=True))
        return self._add(name, kernel, images, output, 0, P=P, Q=Q, **sizes, **steps)

    def attention(
        self,
        name: str,
        shape: Shape,
        *,
        heads: int,
        batch: int,
        by_sequence: bool,
        scale: float | None = None,
    ) -> Shape:
        """Add heads of attention to rows of queries, keys and values, by sequence or by position."""
        width, rows = shape[-1] // 3, math.prod(shape[:-1])
        length = rows // batch
        return self._add(
            name,
            layers.attention,
            (rows, shape[-1]),
            (*shape[:-1], width),
            2 * batch * length * length * width,
            heads=heads,
            batch=batch,
            batch_step=length if by_sequence else 1,
            step=1 if by_sequence else batch,
            scale=1 / math.sqrt(width // heads) if scale is None else scale,
        )

    def _add(
        self,
        name: str,
        kernel: Kernel[..., Any],
        input_shape: Shape,
        output_shape: Shape,
        multiply_adds: int,
        **rest: Any,
    ) -> Shape:
        arguments = {"x": spec(input_shape, self._dtype), **rest}
        self.layers.append(Layer(name, kernel, arguments, output_shape, multiply_adds))
        return output_shape


def _images(name: str, shape: Shape, channels: int | None) -> Shape:
    """A shape as that of images, channels, rows and columns."""
    if len(shape) not in (3, 4):
        raise unfit(name, shape, "it has to be of 3 or 4 axes")
    images = (1,) * (4 - len(shape)) + shape
    if channels is not None and images[1] != channels:
        raise unfit(name, shape, f"it has to have {channels} channels")
    return images


def shape_of(input_shape: Any) -> Shape:
    """Return the sizes of an input as a user gives them; a `ShapeError` where they are none."""
    try:
        shape = tuple(int(size) for size in input_shape)
    except (TypeError, ValueError):
        shape = ()
    if not shape or min(shape) < 1:
        raise unfit_input(
            f"`input_shape` is {shown(input_shape)}, not sizes of at least 1",
            "give the shape of the network's input with its batch, for example (1, 3, 32, 32)",
        )
    return shape


def only_dtype(found: set[str], what: str, help: str = "") -> str:
    """Return the one floating dtype of weights; refuse several, and others than layers have."""
    if len(found) > 1 or not found <= {"float32", "float64"}:
        names = ", ".join(sorted(found))
        raise unsuited(f"{what} are {names}", f"give all of them one of float32 and float64{help}")
    return found.pop()


def unsuited(message: str, help: str) -> TraceError:
    """Return the error of a layer that has no kernel."""
    return TraceError(message, code="CYC742", help=help)


def unsuited_option(name: str, option: str, value: Any, instead: Any) -> TraceError:
    """Return the error of an option of a layer that its kernel does not have."""
    return unsuited(f"layer `{name}` has {option}={value!r}", f"only {instead!r} has a kernel")


def unfit(name: str, shape: Shape, message: str) -> ShapeError:
    """Return the error of a layer that does not take its input."""
    return ShapeError(
        f"layer `{name}` gets an input of {cell(shape)}",
        code="CYC742",
        help=f"{message}; check `input_shape`",
    )
