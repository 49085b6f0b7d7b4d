"""PyTorch's modules as networks of kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.interop import layers
from cyclotron.interop.builder import Builder, Shape, only_dtype, shape_of, unfit, unsuited, unsuited_option
from cyclotron.interop.network import NeuralNetwork
from cyclotron.support.data import require_package

__all__ = ["from_torch"]

_ELEMENTWISE = {"ReLU": layers.relu, "Sigmoid": layers.sigmoid, "Tanh": layers.tangent}
_WITHOUT_WORK = ("Identity", "Dropout", "Dropout2d")


def from_torch(module: Any, input_shape: Sequence[int]) -> NeuralNetwork:
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
    NeuralNetwork
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
        raise unsuited(f"from_torch() got a `{type(module).__name__}`", "give a torch.nn.Module")
    shape = shape_of(input_shape)
    reader = _Reader(torch, module)
    output_shape = reader.read(module, "", shape)
    return NeuralNetwork(reader.builder.layers, shape, output_shape, reader.dtype)


class _Reader:
    """Adds the layers of a module to a network."""

    def __init__(self, torch: Any, module: Any) -> None:
        self.nn = torch.nn
        dtypes = {str(weight.dtype).removeprefix("torch.") for weight in module.parameters()} or {"float32"}
        self.dtype = only_dtype(dtypes, "the weights of the module", ", for example by module.float()")
        self.builder = Builder(self.dtype)

    def read(self, module: Any, name: str, shape: Shape) -> Shape:
        """Add a module's layers; return the shape of what it gives for an input of a shape."""
        nn = self.nn
        own = name or type(module).__name__.lower()
        readers: list[tuple[type, Callable[[Any, str, Shape], Shape]]] = [
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
                return self.builder.elementwise(own, shape, elementwise)
        if isinstance(module, tuple(getattr(nn, kind_name) for kind_name in _WITHOUT_WORK)):
            return shape
        names = [kind.__name__ for kind, _ in readers] + [*_ELEMENTWISE, *_WITHOUT_WORK]
        raise unsuited(
            f"layer `{own}` is a `{type(module).__name__}`, which has no kernel",
            f"give a Sequential of {', '.join(names)}, or write the layer as a kernel",
        )

    def _linear(self, module: Any, name: str, shape: Shape) -> Shape:
        return self.builder.product(name, shape, _numbers(module.weight), _bias(module.bias))

    def _convolution(self, module: Any, name: str, shape: Shape) -> Shape:
        if module.padding_mode != "zeros":
            raise unsuited_option(name, "padding_mode", module.padding_mode, "zeros")
        spans = [step * (size - 1) for step, size in zip(module.dilation, module.kernel_size, strict=True)]
        if module.padding == "same":
            before = [span // 2 for span in spans]
            after = [span - first for span, first in zip(spans, before, strict=True)]
        else:
            before = after = [0, 0] if module.padding == "valid" else list(module.padding)
        return self.builder.convolution(
            name,
            shape,
            _numbers(module.weight),
            _bias(module.bias),
            groups=module.groups,
            strides=module.stride,
            steps=module.dilation,
            before=before,
            after=after,
        )

    def _pool(self, module: Any, name: str, shape: Shape) -> Shape:
        largest = isinstance(module, self.nn.MaxPool2d)
        required: dict[str, Any] = {"padding": (0, 0), "ceil_mode": False}
        required |= {"dilation": (1, 1), "return_indices": False} if largest else {"divisor_override": None}
        for option, value in required.items():
            given = getattr(module, option)
            if (_pair(given) if isinstance(value, tuple) else given) != value:
                raise unsuited_option(name, option, given, value)
        kernel = layers.max_pool if largest else layers.average_pool
        return self.builder.pool(name, shape, kernel, _pair(module.kernel_size), _pair(module.stride))

    def _attention(self, module: Any, name: str, shape: Shape) -> Shape:
        if module.in_proj_weight is None:
            raise unsuited(
                f"layer `{name}` has keys or values of another width than its queries",
                "leave `kdim` and `vdim` at the width of the queries",
            )
        if module.bias_k is not None or module.add_zero_attn:
            raise unsuited_option(name, "add_bias_kv or add_zero_attn", True, False)
        if len(shape) not in (2, 3):
            raise unfit(name, shape, "it has to be of 2 or 3 axes")
        batch = 1 if len(shape) == 2 else shape[0 if module.batch_first else 1]
        by_sequence = len(shape) == 2 or module.batch_first
        weight, bias = _numbers(module.in_proj_weight), _bias(module.in_proj_bias)
        shape = self.builder.product(f"{name}.in", shape, weight, bias)
        shape = self.builder.attention(
            f"{name}.heads", shape, heads=int(module.num_heads), batch=batch, by_sequence=by_sequence
        )
        return self._linear(module.out_proj, f"{name}.out", shape)


def _flattened(module: Any, name: str, shape: Shape) -> Shape:
    """The shape after Flatten, which moves nothing: elements stay in their order."""
    first, last = (axis % len(shape) for axis in (module.start_dim, module.end_dim))
    return (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


def _bias(bias: Any) -> NDArray[Any] | None:
    return None if bias is None else _numbers(bias)


def _numbers(weight: Any) -> NDArray[Any]:
    try:
        return np.array(weight.detach().cpu().numpy())
    except (RuntimeError, TypeError) as error:
        first = str(error).partition(". ")[0]
        raise unsuited(
            f"weights of the module cannot be read: {first}", "give a module whose weights have numbers"
        ) from None


def _pair(value: Any) -> tuple[int, int]:
    first, second = value if isinstance(value, tuple) else (value, value)
    return first, second
