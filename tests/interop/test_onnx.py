"""Networks made of ONNX models compute what ONNX's own reference computes."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy


def test_without_onnx(monkeypatch, golden_refusal):
    monkeypatch.setitem(sys.modules, "onnx", None)
    golden_refusal("onnx-is-missing", cy.BackendUnavailable, "CYC722", lambda: cy.from_onnx(None))


onnx = pytest.importorskip("onnx", reason="ONNX is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

RNG = np.random.default_rng(11)


def weight(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs.split(), output.split(), **attributes)


def model(shape, nodes, weights, *, open_shape=None, dtype="float32", output=None):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    end = output or nodes[-1].output[0]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", kind, open_shape or shape)],
        [helper.make_tensor_value_info(end, kind, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])


def convolution(shape, filters, bias=True, **attributes):
    weights = {"W": weight(*filters)} | ({"b": weight(filters[0])} if bias else {})
    return shape, [node("Conv", "x W b" if bias else "x W", "y", **attributes)], weights


def lenet():
    nodes = [
        node("Conv", "x F a", "h1", pads=[2, 2, 2, 2], name="first"),
        node("Tanh", "h1", "h2"),
        node("AveragePool", "h2", "h3", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "h3 G", "h4"),
        node("Relu", "h4", "h5"),
        node("MaxPool", "h5", "h6", kernel_shape=[2, 2], strides=[2, 2]),
        node("Dropout", "h6", "h7"),
        node("Reshape", "h7 sizes", "h8"),
        node("MatMul", "h8 M", "h9"),
        node("Add", "h9 b", "h10"),
        node("Sigmoid", "h10", "y"),
    ]
    weights = {
        "F": weight(3, 1, 5, 5),
        "a": weight(3),
        "G": weight(4, 3, 3, 3),
        "sizes": np.array([0, -1]),
        "M": weight(16, 5),
        "b": weight(5),
    }
    return (2, 1, 12, 12), nodes, weights


def attention(batch, length, width, heads, **attributes):
    nodes = [
        node("MatMul", "x W", "h"),
        node("Split", "h", "q k v", axis=-1, num_outputs=3),
        node("Attention", "q k v", "a", q_num_heads=heads, kv_num_heads=heads, **attributes),
        node("MatMul", "a V", "m"),
        node("Add", "c m", "y"),
    ]
    return (
        (batch, length, width),
        nodes,
        {"W": weight(width, 3 * width), "V": weight(width, 4), "c": weight(4)},
    )


MODELS = {
    "gemm": ((4, 5), [node("Gemm", "x W b", "y")], {"W": weight(5, 3), "b": weight(3)}),
    "gemm-scaled": (
        (4, 5),
        [node("Gemm", "x W b", "y", transB=1, alpha=0.5, beta=2.0)],
        {"W": weight(3, 5), "b": weight(1, 1)},
    ),
    "matmul": ((2, 3, 5), [node("MatMul", "x W", "y")], {"W": weight(5, 3)}),
    "matmul-of-a-vector": (
        (5,),
        [node("MatMul", "x W", "h"), node("Add", "b h", "y")],
        {"W": weight(5, 3), "b": weight(3)},
    ),
    "convolution": convolution((2, 3, 6, 5), (4, 3, 3, 3)),
    "convolution-uneven-pads": convolution((1, 2, 4, 5), (3, 2, 3, 2), False, pads=[2, 0, 1, 3]),
    "convolution-strided": convolution((1, 2, 7, 8), (3, 2, 3, 3), strides=[2, 3], pads=[1, 1, 1, 1]),
    "convolution-dilated": convolution((1, 2, 7, 8), (3, 2, 2, 3), dilations=[3, 2]),
    "convolution-in-groups": convolution((1, 4, 5, 5), (6, 2, 3, 3), group=2),
    "convolution-by-depth": convolution((1, 3, 5, 5), (3, 1, 3, 3), group=3),
    "convolution-same": convolution((1, 2, 6, 7), (2, 2, 2, 4), auto_pad="SAME_UPPER", strides=[2, 1]),
    "convolution-same-below": convolution((1, 2, 6, 7), (2, 2, 2, 4), auto_pad="SAME_LOWER"),
    "convolution-valid": convolution((1, 2, 6, 7), (2, 2, 3, 3), auto_pad="VALID"),
    "pools": (
        (1, 2, 9, 8),
        [
            node("MaxPool", "x", "h", kernel_shape=[3, 3]),
            node("AveragePool", "h", "y", kernel_shape=[2, 1], strides=[1, 2]),
        ],
        {},
    ),
    "global-pool": (
        (2, 3, 4, 5),
        [node("GlobalAveragePool", "x", "h"), node("Flatten", "h", "g"), node("Gemm", "g W", "y")],
        {"W": weight(3, 2)},
    ),
    "flatten": ((2, 3, 4), [node("Relu", "x", "h"), node("Flatten", "h", "y", axis=-1)], {}),
    "identity": ((2, 3), [node("Identity", "x", "h"), node("Sigmoid", "h", "y")], {}),
    "attention": attention(2, 4, 6, 3),
    "attention-scaled": attention(1, 3, 4, 2, scale=0.3),
    "lenet": lenet(),
}


@pytest.mark.parametrize("name", MODELS)
def test_values(name):
    shape, nodes, weights = MODELS[name]
    made = model(shape, nodes, weights)
    x = weight(*shape)
    (expected,) = ReferenceEvaluator(made).run(None, {"x": x})
    network = cy.from_onnx(made)
    found = network(x)
    assert found.dtype == expected.dtype
    assert network.output_shape == found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    assert network.run().cycles > 0


def test_float64_constants_and_open_sizes():
    """Weights may be constant nodes; a batch that is left open is given."""
    constant = helper.make_node(
        "Constant", [], ["W"], value=numpy_helper.from_array(weight(5, 3, dtype="f8"))
    )
    made = model((4, 5), [constant, node("MatMul", "x W", "y")], {}, open_shape=["batch", 5], dtype="float64")
    x = weight(7, 5, dtype="float64")
    (expected,) = ReferenceEvaluator(made).run(None, {"x": x})
    found = cy.from_onnx(made, (7, 5))(x)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(cy.TraceError, match="leaves the shape of `x` open"):
        cy.from_onnx(made)
    with pytest.raises(cy.ShapeError, match="an input of 7x4"):
        cy.from_onnx(made, (7, 4))


def test_files(tmp_path):
    shape, nodes, weights = lenet()
    made = model(shape, nodes, weights)
    onnx.save(made, tmp_path / "lenet.onnx")
    x = weight(*shape)
    assert np.array_equal(cy.from_onnx(tmp_path / "lenet.onnx")(x), cy.from_onnx(made)(x))
    assert [layer.name for layer in cy.from_onnx(str(tmp_path / "lenet.onnx"))][:2] == ["first", "h2"]
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(cy.TraceError, match="is no file of ONNX"):
        cy.from_onnx(tmp_path / "text.onnx")
    with pytest.raises(FileNotFoundError):
        cy.from_onnx(tmp_path / "missing.onnx")


def one(kind, shape, weights=None, inputs="x", output="y", **attributes):
    return model(shape, [node(kind, inputs, output, **attributes)], weights or {}, output=output.split()[0])


REFUSED = {
    "no model": (dict, "got a `dict`"),
    "no kernel": (lambda: one("Softmax", (2, 3)), "`y` is a `Softmax`, which has no kernel"),
    "another domain": (lambda: one("Relu", (2, 3), domain="com.other"), "`Relu` of `com.other`"),
    "another order": (
        lambda: model((2, 2), [node("Relu", "x", "a"), node("Tanh", "x", "y")], {}),
        "node `y` takes `x`, and the node before it gives `a`",
    ),
    "two branches": (
        lambda: model((2, 2), [node("Relu", "x", "a"), node("Add", "a x", "y")], {}),
        "node `y` takes `a`, `x`",
    ),
    "an inner result": (
        lambda: model((2, 2), [node("Relu", "x", "a"), node("Tanh", "a", "b")], {}, output="a"),
        "output `a` is not that of its last node",
    ),
    "weights first": (
        lambda: one("MatMul", (5, 2), {"W": weight(3, 5)}, "W x"),
        "is no product with a matrix",
    ),
    "filters first": (
        lambda: one("Conv", (1, 1, 3, 3), {"W": weight(1, 1, 5, 5)}, "W x"),
        "no convolution of images with weights",
    ),
    "another width": (lambda: one("MatMul", (2, 4), {"W": weight(5, 3)}, "x W"), "an input of 2x4"),
    "transposed input": (lambda: one("Gemm", (5, 2), {"W": weight(5, 3)}, "x W", transA=1), "transA=1"),
    "padded pool": (lambda: one("MaxPool", (1, 1, 5, 5), kernel_shape=[3, 3], pads=[1, 1, 1, 1]), "pads"),
    "pool with places": (
        lambda: one("MaxPool", (1, 1, 5, 5), output="y places", kernel_shape=[3, 3]),
        "no pool of images with one result",
    ),
    "one axis": (lambda: one("Conv", (1, 2, 5), {"W": weight(2, 2, 3)}, "x W"), "no convolution of images"),
    "large filter": (lambda: one("Conv", (1, 1, 5, 5), {"W": weight(1, 1, 7, 7)}, "x W"), "1x1x5x5"),
    "half weights": (
        lambda: one("MatMul", (2, 5), {"W": weight(5, 3, dtype="f2")}, "x W"),
        "float16, float32",
    ),
    "causal": (lambda: model(*attention(1, 3, 4, 2, is_causal=1)), "is_causal=1"),
    "uneven split": (
        lambda: model(
            (1, 2, 6), [node("Split", "x n", "q k v", axis=-1)], {"n": np.array([1, 2, 3])}, output="q"
        ),
        "does not split its last axis in three",
    ),
    "parts alone": (
        lambda: model((1, 2, 6), [node("Split", "x", "q k v", axis=-1, num_outputs=3)], {}, output="q"),
        "output `q` is not that of its last node",
    ),
    "training": (
        lambda: one("Dropout", (2, 2), {"r": np.array(0.5, "f4"), "t": np.array(True)}, "x r t"),
        "training_mode=True",
    ),
    "unknown sizes": (
        lambda: model(
            (2, 2),
            [node("Relu", "x", "a"), node("Reshape", "a n", "y", allowzero=1)],
            {"n": np.array([4, 1])},
        ),
        "sizes that are not known",
    ),
    "other number": (
        lambda: one("Reshape", (2, 2), {"n": np.array([3, 2])}, "x n"),
        "an input of 2x2",
    ),
    "two inputs": (
        lambda: helper.make_model(
            helper.make_graph(
                [node("Add", "x z", "y")],
                "sum",
                [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xz"],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
            )
        ),
        "2 inputs and 1 outputs",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    make, message = REFUSED[name]
    with pytest.raises(cy.CyclotronError, match=re.escape(message)) as caught:
        cy.from_onnx(make())
    assert caught.value.code == "CYC742"
    assert caught.value.help


def test_the_page_on_onnx():
    text = (Path(__file__).resolve().parents[2] / "docs/howto/pytorch.md").read_text()
    part = text.split("\n## From ONNX\n")[1]
    names: dict[str, object] = {}
    exec("\n".join(re.findall(r"^```python\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)), names)
    (expected,) = ReferenceEvaluator(names["model"]).run(None, {"x": names["x"]})
    np.testing.assert_allclose(names["run"].output, expected, rtol=2e-5, atol=2e-5)
