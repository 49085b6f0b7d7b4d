"""Models of ONNX as networks of kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.interop import layers
from cyclotron.interop.builder import Builder, Shape, only_dtype, shape_of, unfit, unsuited, unsuited_option
from cyclotron.interop.network import NeuralNetwork
from cyclotron.support.data import require_package

__all__ = ["from_onnx"]

_ELEMENTWISE = {"Relu": layers.relu, "Sigmoid": layers.sigmoid, "Tanh": layers.tangent}
_WITHOUT_WORK = ("Identity", "Dropout")


def from_onnx(model: Any, input_shape: Sequence[int] | None = None) -> NeuralNetwork:
    """Make kernels of the layers of an ONNX model, with its weights as their inputs.

    The nodes follow each other: each takes what the one before it gives, and weights. They are ``Gemm``,
    ``MatMul`` with weights, and an ``Add`` after it as its bias, ``Conv`` of images, ``MaxPool``,
    ``AveragePool``, ``GlobalAveragePool``, ``Relu``, ``Sigmoid``, ``Tanh``, ``Flatten``, ``Reshape``,
    ``Dropout`` (as when the model is evaluated), ``Identity``; and ``Attention`` of a sequence with itself,
    without a mask, whose queries, keys and values a ``Split`` in three gives. Layers of one kind share a
    kernel.

    Parameters
    ----------
    model : onnx.ModelProto, str or Path
        Or the file's name. Its weights are float32 or float64.
    input_shape : sequence of int, optional
        Of the model's input, its batch included; needed where the model leaves sizes open.

    Returns
    -------
    NeuralNetwork
        Its layers, in order. ``network.run(x)`` simulates them; the numbers are those of ONNX, up to the
        order of sums.

    Raises
    ------
    BackendUnavailable
        CYC722 if the package ``onnx`` is not installed.
    TraceError
        CYC742 for another node, another order of nodes, or an attribute of one that kernels do not have.
    ShapeError
        CYC742 if the model does not take this shape.
    OSError
        If there is no such file.

    Examples
    --------
    >>> from onnx import helper, numpy_helper
    >>> weights = [numpy_helper.from_array(np.ones((8, 4), "float32"), "W")]
    >>> nodes = [helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    >>> x, y = (helper.make_tensor_value_info(name, 1, ["batch", n]) for name, n in (("x", 8), ("y", 4)))
    >>> model = helper.make_model(helper.make_graph(nodes, "network", [x], [y], weights))
    >>> print(cy.from_onnx(model, (3, 8)))
    layer  kernel  input  output  weights  multiply-adds
    -----  ------  -----  ------  -------  -------------
    h      linear  3x8    3x4     32       96
    y      relu    3x4    3x4     0        0
    """
    onnx = require_package("onnx", instead="write the layers as kernels")
    if isinstance(model, str | Path):
        try:
            model = onnx.load(str(model))
        except OSError:
            raise
        except Exception as error:  # protobuf's: of what is no such file
            raise unsuited(
                f"`{model}` is no file of ONNX: {error}", "give one that onnx.load reads"
            ) from None
    if not isinstance(model, onnx.ModelProto):
        raise unsuited(
            f"from_onnx() got a `{type(model).__name__}`", "give an onnx.ModelProto, or a file's name"
        )
    reader = _Reader(onnx, model.graph, input_shape)
    output_shape = reader.read()
    return NeuralNetwork(reader.builder.layers, reader.input_shape, output_shape, reader.dtype)


class _Reader:
    """Adds the layers of a graph to a network."""

    def __init__(self, onnx: Any, graph: Any, input_shape: Sequence[int] | None) -> None:
        self._onnx, self._graph = onnx, graph
        self._known: dict[str, NDArray[Any]] = {
            one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer
        }
        inputs = [one for one in graph.input if one.name not in self._known]
        if len(inputs) != 1 or len(graph.output) != 1:
            raise unsuited(
                f"the model has {len(inputs)} inputs and {len(graph.output)} outputs",
                "give one with an input and an output, beside its weights",
            )
        self._end = inputs[0].name
        self.input_shape = _input_shape(inputs[0], input_shape)
        self.dtype = self._dtype(inputs[0].type.tensor_type.elem_type)
        self.builder = Builder(self.dtype)
        self._thirds: list[str] = []  # names of queries, keys and values, which are parts of the last result

    def _dtype(self, of_input: int) -> str:
        found = {str(one.dtype) for one in self._known.values() if one.ndim and one.dtype.kind not in "iub"}
        found.add(str(self._onnx.helper.tensor_dtype_to_np_dtype(of_input)))
        return only_dtype(found, "the input and the weights of the model")

    def read(self) -> Shape:
        """Add all nodes; return the shape of the last one's result."""
        readers: dict[str, Callable[[Any, str, Shape], Shape]] = {
            "Gemm": self._gemm,
            "MatMul": self._product,
            "Conv": self._convolution,
            "MaxPool": self._pool,
            "AveragePool": self._pool,
            "GlobalAveragePool": self._whole_pool,
            "Flatten": self._flattened,
            "Reshape": self._reshaped,
            "Split": self._split,
            "Attention": self._attention,
        }
        nodes, shape = list(self._graph.node), self.input_shape
        while nodes:
            node = nodes.pop(0)
            if node.op_type == "Constant":
                (value,) = (self._onnx.helper.get_attribute_value(one) for one in node.attribute)
                is_tensor = isinstance(value, self._onnx.TensorProto)
                self._known[node.output[0]] = (
                    self._onnx.numpy_helper.to_array(value) if is_tensor else np.array(value)
                )
                continue
            name = node.name or node.output[0]
            self._check(node, name)
            is_standard = node.domain in ("", "ai.onnx")
            if is_standard and node.op_type in readers:
                joined = self._with_bias(node, nodes[0]) if node.op_type == "MatMul" and nodes else None
                if joined is not None:
                    node = joined
                    del nodes[0]
                shape = readers[node.op_type](node, name, shape)
            elif is_standard and node.op_type in _ELEMENTWISE:
                shape = self.builder.elementwise(name, shape, _ELEMENTWISE[node.op_type])
            elif not is_standard or node.op_type not in _WITHOUT_WORK:
                kinds = ", ".join([*readers, *_ELEMENTWISE, *_WITHOUT_WORK])
                of = "" if is_standard else f" of `{node.domain}`"
                raise unsuited(
                    f"node `{name}` is a `{node.op_type}`{of}, which has no kernel",
                    f"give a model of {kinds}, or write the layer as a kernel",
                )
            self._thirds = list(node.output) if node.op_type == "Split" else []
            self._end = node.output[0]
        if self._thirds or self._graph.output[0].name != self._end:
            raise unsuited(
                f"the model's output `{self._graph.output[0].name}` is not that of its last node",
                "give a model whose nodes follow each other",
            )
        return shape

    def _check(self, node: Any, name: str) -> None:
        """Refuse a node that takes more, or anything else, than the result before it and weights."""
        taken = [one for one in node.input if one and one not in self._known]
        if taken != (self._thirds or [self._end]):
            before = ", ".join(f"`{one}`" for one in self._thirds or [self._end])
            raise unsuited(
                f"node `{name}` takes {', '.join(f'`{one}`' for one in taken) or 'weights alone'}, "
                f"and the node before it gives {before}",
                "give a model whose nodes follow each other",
            )
        if node.op_type == "Dropout" and np.any(self._weight(node, 2)):
            raise unsuited_option(name, "training_mode", True, False)

    def _attributes(self, node: Any, name: str, **defaults: Any) -> dict[str, Any]:
        """The attributes, with defaults; an option of the node that is no attribute here is refused."""
        given = {one.name: self._onnx.helper.get_attribute_value(one) for one in node.attribute}
        texts = {key: value.decode() if isinstance(value, bytes) else value for key, value in given.items()}
        for option in texts.keys() - defaults.keys():
            raise unsuited(f"node `{name}` has `{option}`", f"a {node.op_type} without it has a kernel")
        return {**defaults, **texts}

    def _weight(self, node: Any, place: int) -> NDArray[Any] | None:
        if len(node.input) <= place or not node.input[place]:
            return None
        return self._known.get(node.input[place])

    def _matrix(self, node: Any, name: str) -> NDArray[Any]:
        weight = None if node.input[0] in self._known else self._weight(node, 1)
        if weight is None or weight.ndim != 2:
            raise unsuited(
                f"node `{name}` is no product with a matrix of weights", "its second input has to be one"
            )
        return weight

    def _gemm(self, node: Any, name: str, shape: Shape) -> Shape:
        has = self._attributes(node, name, alpha=1.0, beta=1.0, transA=0, transB=0)
        if has["transA"]:
            raise unsuited_option(name, "transA", has["transA"], 0)
        weight, bias = self._matrix(node, name), self._weight(node, 2)
        weight = (weight if has["transB"] else weight.T) * weight.dtype.type(has["alpha"])
        if bias is not None:
            bias = _row(name, bias * bias.dtype.type(has["beta"]), len(weight))
        return self.builder.product(name, shape, weight, bias)

    def _product(self, node: Any, name: str, shape: Shape) -> Shape:
        weight, bias = self._matrix(node, name).T, self._weight(node, 2)
        return self.builder.product(name, shape, np.array(weight), bias)

    def _with_bias(self, product: Any, addition: Any) -> Any | None:
        """A product whose third input is what a node adds to it for each output; None where it does not."""
        others = [one for one in addition.input if one != product.output[0]]
        weight = self._weight(product, 1)
        if addition.op_type != "Add" or len(others) != 1 or weight is None or others[0] not in self._known:
            return None
        if self._known[others[0]].shape != weight.shape[1:]:
            return None
        joined = self._onnx.NodeProto()
        joined.CopyFrom(product)
        joined.input.append(others[0])
        joined.output[0] = addition.output[0]
        return joined

    def _convolution(self, node: Any, name: str, shape: Shape) -> Shape:
        weight = self._weight(node, 1)
        if weight is None or weight.ndim != 4 or len(shape) != 4:
            raise unsuited(f"node `{name}` is no convolution of images with weights", "both have 4 axes")
        has = self._attributes(
            node,
            name,
            auto_pad="NOTSET",
            dilations=(1, 1),
            group=1,
            kernel_shape=weight.shape[2:],
            pads=(0, 0, 0, 0),
            strides=(1, 1),
        )
        before, after = has["pads"][:2], has["pads"][2:]
        if has["auto_pad"].startswith("SAME"):
            around = [
                max((-(-size // stride) - 1) * stride + step * (window - 1) + 1 - size, 0)
                for size, stride, step, window in zip(
                    shape[2:], has["strides"], has["dilations"], weight.shape[2:], strict=True
                )
            ]
            less, more = [pad // 2 for pad in around], [pad - pad // 2 for pad in around]
            before, after = (less, more) if has["auto_pad"] == "SAME_UPPER" else (more, less)
        return self.builder.convolution(
            name,
            shape,
            weight,
            self._weight(node, 2),
            groups=has["group"],
            strides=has["strides"],
            steps=has["dilations"],
            before=before,
            after=after,
        )

    def _pool(self, node: Any, name: str, shape: Shape) -> Shape:
        required: dict[str, Any] = {"auto_pad": "NOTSET", "ceil_mode": 0, "pads": [0, 0, 0, 0]}
        required |= {"dilations": [1, 1], "storage_order": 0}
        has = self._attributes(node, name, kernel_shape=(), strides=(1, 1), count_include_pad=0, **required)
        for option, value in required.items():
            if has[option] != value and (option, has[option]) != ("auto_pad", "VALID"):
                raise unsuited_option(name, option, has[option], value)
        if len(node.output) > 1 or len(has["kernel_shape"]) != 2:
            raise unsuited(f"node `{name}` is no pool of images with one result", "give a pool of 2 axes")
        kernel = layers.max_pool if node.op_type == "MaxPool" else layers.average_pool
        return self.builder.pool(name, shape, kernel, has["kernel_shape"], has["strides"])

    def _whole_pool(self, node: Any, name: str, shape: Shape) -> Shape:
        return self.builder.pool(name, shape, layers.average_pool, None, (1, 1))

    def _flattened(self, node: Any, name: str, shape: Shape) -> Shape:
        """The shape after Flatten, which moves nothing: elements stay in their order."""
        axis = self._attributes(node, name, axis=1)["axis"]
        axis += len(shape) if axis < 0 else 0
        return math.prod(shape[:axis]), math.prod(shape[axis:])

    def _reshaped(self, node: Any, name: str, shape: Shape) -> Shape:
        sizes = self._weight(node, 1)
        keeps_zeros = self._attributes(node, name, allowzero=0)["allowzero"]
        if sizes is None or keeps_zeros:
            raise unsuited(f"node `{name}` has sizes that are not known", "give them as a constant")
        new = [shape[n] if size == 0 and n < len(shape) else int(size) for n, size in enumerate(sizes)]
        if -1 in new:
            new[new.index(-1)] = math.prod(shape) // max(-math.prod(new), 1)
        if math.prod(new) != math.prod(shape):
            raise unfit(name, shape, f"it becomes {tuple(map(int, sizes))}")
        return tuple(new)

    def _split(self, node: Any, name: str, shape: Shape) -> Shape:
        """Queries, keys and values, which stay beside each other for the attention that follows."""
        axis = self._attributes(node, name, axis=0, num_outputs=3)["axis"]
        sizes = self._weight(node, 1)
        third = shape[-1] // 3
        is_even = sizes is None or list(sizes) == 3 * [third]
        if axis % len(shape) != len(shape) - 1 or len(node.output) != 3 or shape[-1] % 3 or not is_even:
            raise unsuited(
                f"node `{name}` does not split its last axis in three",
                "queries, keys and values of one width are taken, for an Attention",
            )
        return shape

    def _attention(self, node: Any, name: str, shape: Shape) -> Shape:
        if not self._thirds or len(node.input) > 3 or len(node.output) > 1 or len(shape) != 3:
            raise unsuited(
                f"node `{name}` is no attention of a sequence with itself",
                "give it what a Split in three of batch, position and feature gives, and nothing else",
            )
        has = self._attributes(node, name, q_num_heads=1, kv_num_heads=1, scale=None, is_causal=0)
        for option, value in {"is_causal": 0, "kv_num_heads": has["q_num_heads"]}.items():
            if has[option] != value:
                raise unsuited_option(name, option, has[option], value)
        return self.builder.attention(
            name, shape, heads=has["q_num_heads"], batch=shape[0], by_sequence=True, scale=has["scale"]
        )


def _input_shape(value: Any, given: Sequence[int] | None) -> Shape:
    """The shape that is given, where the model's own sizes say no other one."""
    own = [one.dim_value if one.HasField("dim_value") else None for one in value.type.tensor_type.shape.dim]
    if given is None:
        if not own or None in own:
            raise unsuited(f"the model leaves the shape of `{value.name}` open", "give its `input_shape`")
        return shape_of(own)
    shape = shape_of(given)
    if own and (len(own) != len(shape) or any(a not in (None, b) for a, b in zip(own, shape, strict=True))):
        raise unfit(value.name, shape, f"the model's own is {tuple(size or '?' for size in own)}")
    return shape


def _row(name: str, bias: NDArray[Any], outputs: int) -> NDArray[Any]:
    """A bias as one number for each output."""
    if bias.size not in (1, outputs) or bias.shape[-1:] not in ((), (1,), (outputs,)):
        raise unsuited(f"node `{name}` adds {bias.shape} numbers", "a bias is one for each output")
    return np.array(np.broadcast_to(bias.reshape(-1), (outputs,)))
