"""PyTorch's modules as networks of kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.interop import layers
from cyclotron.interop.network import Layer, Network
from cyclotron.kernel import Kernel
from cyclotron.language import spec
from cyclotron.support.arguments import shown
from cyclotron.support.data import require_package
from cyclotron.support.errors import ShapeError, TraceError
from cyclotron.support.tables import cell

__all__ = ["from_torch"]

_ELEMENTWISE = {"ReLU": layers.relu, "Sigmoid": layers.sigmoid, "Tanh": layers.tangent}
_WITHOUT_WORK = ("Identity", "Dropout", "Dropout2d")


def from_torch(module: Any, input_shape: Sequence[int]) -> Network:
    """Make kernels of a PyTorch module's layers, with its weights as their inputs.

    A module is ``Linear``, ``Conv2d``, ``MultiheadAttention`` (of a sequence with itself, without a mask),
    ``MaxPool2d``, ``AvgPool2d``, ``ReLU``, ``Sigmoid``, ``Tanh``, ``Flatten``, ``Dropout`` (as when it is
    evaluated), ``Identity``, or a ``Sequential`` of such. Attention becomes three layers: the projection of
    queries, keys and values, the heads, and the projection of the output. Layers of one kind share a kernel.

    Parameters
    ----------
    module : torch.nn.Module
        On any device; its weights are copied, and are float32 or float64.
    input_shape : sequence of int
        Of the module's input, its batch included.

    Returns
    -------
    Network
        Its layers, in order. ``network.run(x)`` simulates them; the numbers are PyTorch's, up to the order
        of sums.

    Raises
    ------
    BackendUnavailable
        CYC722 if PyTorch is not installed.
    TraceError
        CYC742 for another module, or an option of one that kernels do not have.
    ShapeError
        CYC742 if the module does not take this shape.

    Examples
    --------
    >>> from torch import nn
    >>> module = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> print(cy.from_torch(module, (3, 8)))
    layer  kernel  input  output  weights  multiply-adds
    -----  ------  -----  ------  -------  -------------
    0      linear  3x8    3x4     36       96
    1      relu    3x4    3x4     0        0
    2      linear  3x4    3x2     10       24
    """
    torch = require_package("torch", instead="write the layers as kernels")
    if not isinstance(module, torch.nn.Module):
        raise _unsuited(f"from_torch() got a `{type(module).__name__}`", "give a torch.nn.Module")
    try:
        shape = tuple(int(size) for size in input_shape)
    except (TypeError, ValueError):
        shape = ()
    if not shape or min(shape) < 1:
        raise ShapeError(
            f"`input_shape` is {shown(input_shape)}, not sizes of at least 1",
            code="CYC742",
            help="give the shape of the module's input with its batch, for example (1, 3, 32, 32)",
        )
    reader = _Reader(torch, module)
    output_shape = reader.read(module, "", shape)
    return Network(reader.layers, shape, output_shape, reader.dtype)


class _Reader:
    """Collects the layers of a module while the shape of what passes through them is followed."""

    def __init__(self, torch: Any, module: Any) -> None:
        self.layers: list[Layer] = []
        self.nn = torch.nn
        dtypes = {str(weight.dtype).removeprefix("torch.") for weight in module.parameters()} or {"float32"}
        if len(dtypes) > 1 or not dtypes <= {"float32", "float64"}:
            raise _unsuited(
                f"the weights of the module are {', '.join(sorted(dtypes))}",
                "give all of them one of float32 and float64, for example by module.float()",
            )
        self.dtype = dtypes.pop()

    def read(self, module: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Add a module's layers; return the shape of what it gives for an input of a shape."""
        nn = self.nn
        own = name or type(module).__name__.lower()
        readers: list[tuple[type, Callable[[Any, str, tuple[int, ...]], tuple[int, ...]]]] = [
            (nn.Linear, self._linear),
            (nn.Conv2d, self._convolution),
            (nn.MultiheadAttention, self._attention),
            (nn.MaxPool2d, self._pool),
            (nn.AvgPool2d, self._pool),
            (nn.Flatten, _flattened),
        ]
        if isinstance(module, nn.Sequential):
            for child, part in module.named_children():
                shape = self.read(part, f"{name}.{child}".lstrip("."), shape)
            return shape
        for kind, reader in readers:
            if isinstance(module, kind):
                return reader(module, own, shape)
        for kind_name, elementwise in _ELEMENTWISE.items():
            if isinstance(module, getattr(nn, kind_name)):
                return self._add(own, elementwise, shape, shape, 0)
        if isinstance(module, tuple(getattr(nn, kind_name) for kind_name in _WITHOUT_WORK)):
            return shape
        names = [kind.__name__ for kind, _ in readers] + [*_ELEMENTWISE, *_WITHOUT_WORK]
        raise _unsuited(
            f"layer `{own}` is a `{type(module).__name__}`, which has no kernel",
            f"give a Sequential of {', '.join(names)}, or write the layer as a kernel",
        )

    def _add(
        self,
        name: str,
        kernel: Kernel[..., Any],
        input_shape: tuple[int, ...],
        output_shape: tuple[int, ...],
        multiply_adds: int,
        **rest: Any,
    ) -> tuple[int, ...]:
        arguments = {"x": spec(input_shape, self.dtype), **rest}
        self.layers.append(Layer(name, kernel, arguments, output_shape, multiply_adds))
        return output_shape

    def _linear(self, module: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._product(name, shape, module.weight, module.bias)

    def _product(self, name: str, shape: tuple[int, ...], weight: Any, bias: Any) -> tuple[int, ...]:
        """A product with weights of the last axis of the input."""
        outputs, inputs = map(int, weight.shape)
        if shape[-1] != inputs:
            raise _unfit(name, shape, f"its last axis has to be {inputs}")
        rows = math.prod(shape[:-1])
        return self._add(
            name,
            layers.linear,
            (rows, inputs),
            (*shape[:-1], outputs),
            rows * inputs * outputs,
            weight=_numbers(weight),
            bias=_numbers(bias),
        )

    def _convolution(self, module: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        if module.padding_mode != "zeros":
            raise _option(name, "padding_mode", module.padding_mode, "zeros")
        steps, strides = module.dilation, module.stride
        spans = [step * (size - 1) for step, size in zip(steps, module.kernel_size, strict=True)]
        if module.padding == "same":
            before, around = [span // 2 for span in spans], spans
        else:
            before = [0, 0] if module.padding == "valid" else list(module.padding)
            around = [2 * pad for pad in before]
        images = _images(name, shape, module.in_channels)
        sizes = [
            (size + pad - span - 1) // stride + 1
            for size, pad, span, stride in zip(images[2:], around, spans, strides, strict=True)
        ]
        if min(sizes) < 1:
            raise _unfit(name, shape, "the filters are larger than the image")
        filters = int(module.out_channels)
        output = (images[0], filters, *sizes)
        return self._add(
            name,
            layers.convolution,
            images,
            output[4 - len(shape) :],
            math.prod(output) * math.prod(map(int, module.weight.shape[1:])),
            weight=_numbers(module.weight),
            bias=_numbers(module.bias),
            **dict(zip(("P", "Q"), sizes, strict=True)),
            **dict(zip(("stride_p", "stride_q"), strides, strict=True)),
            **dict(zip(("pad_p", "pad_q"), before, strict=True)),
            **dict(zip(("step_r", "step_s"), steps, strict=True)),
        )

    def _pool(self, module: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        largest = isinstance(module, self.nn.MaxPool2d)
        windows, strides = _pair(module.kernel_size), _pair(module.stride)
        required: dict[str, Any] = {"padding": (0, 0), "ceil_mode": False}
        required |= {"dilation": (1, 1), "return_indices": False} if largest else {"divisor_override": None}
        for option, value in required.items():
            given = getattr(module, option)
            if (_pair(given) if isinstance(value, tuple) else given) != value:
                raise _option(name, option, given, value)
        images = _images(name, shape, None)
        P, Q = (
            (size - window) // stride + 1
            for size, window, stride in zip(images[2:], windows, strides, strict=True)
        )
        if min(P, Q) < 1:
            raise _unfit(name, shape, "the windows are larger than the image")
        kernel = layers.max_pool if largest else layers.average_pool
        output = (*images[:2], P, Q)[4 - len(shape) :]
        sizes = dict(zip(("R", "S"), windows, strict=True))
        steps = dict(zip(("stride_p", "stride_q"), strides, strict=True))
        return self._add(name, kernel, images, output, 0, P=P, Q=Q, **sizes, **steps)

    def _attention(self, module: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        if module.in_proj_weight is None:
            raise _unsuited(
                f"layer `{name}` has keys or values of another width than its queries",
                "leave `kdim` and `vdim` at the width of the queries",
            )
        if module.bias_k is not None or module.add_zero_attn:
            raise _option(name, "add_bias_kv or add_zero_attn", True, False)
        if len(shape) not in (2, 3):
            raise _unfit(name, shape, "it has to be of 2 or 3 axes")
        batch = 1 if len(shape) == 2 else shape[0 if module.batch_first else 1]
        length, heads = math.prod(shape[:-1]) // batch, int(module.num_heads)
        by_sequence = len(shape) == 2 or module.batch_first
        width = int(module.embed_dim)
        projected = self._product(f"{name}.in", shape, module.in_proj_weight, module.in_proj_bias)
        rows = math.prod(shape[:-1])
        self._add(
            f"{name}.heads",
            layers.attention,
            (rows, projected[-1]),
            (*shape[:-1], width),
            2 * batch * length * length * width,
            heads=heads,
            batch=batch,
            batch_step=length if by_sequence else 1,
            step=1 if by_sequence else batch,
            scale=1 / math.sqrt(width // heads),
        )
        output = module.out_proj
        return self._product(f"{name}.out", (*shape[:-1], width), output.weight, output.bias)


def _flattened(module: Any, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape after Flatten, which moves nothing: elements stay in their order."""
    first, last = (axis % len(shape) for axis in (module.start_dim, module.end_dim))
    return (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


def _images(name: str, shape: tuple[int, ...], channels: int | None) -> tuple[int, ...]:
    """A shape as that of images, channels, rows and columns."""
    if len(shape) not in (3, 4):
        raise _unfit(name, shape, "it has to be of 3 or 4 axes")
    images = (1,) * (4 - len(shape)) + shape
    if channels is not None and images[1] != channels:
        raise _unfit(name, shape, f"it has to have {channels} channels")
    return images


def _numbers(weight: Any) -> NDArray[Any] | None:
    try:
        return None if weight is None else np.array(weight.detach().cpu().numpy())
    except (RuntimeError, TypeError) as error:
        first = str(error).partition(". ")[0]
        raise _unsuited(
            f"weights of the module cannot be read: {first}", "give a module whose weights have numbers"
        ) from None


def _pair(value: Any) -> tuple[int, int]:
    first, second = value if isinstance(value, tuple) else (value, value)
    return first, second


def _unsuited(message: str, help: str) -> TraceError:
    return TraceError(message, code="CYC742", help=help)


def _option(name: str, option: str, value: Any, instead: Any) -> TraceError:
    return _unsuited(f"layer `{name}` has {option}={value!r}", f"only {instead!r} has a kernel")


def _unfit(name: str, shape: tuple[int, ...], message: str) -> ShapeError:
    return ShapeError(
        f"layer `{name}` gets an input of {cell(shape)}",
        code="CYC742",
        help=f"{message}; check `input_shape`",
    )
