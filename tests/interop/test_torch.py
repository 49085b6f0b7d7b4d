"""Networks made of PyTorch's modules compute what PyTorch computes, on every backend."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy


def test_without_pytorch(monkeypatch, golden_refusal):
    monkeypatch.setitem(sys.modules, "torch", None)
    golden_refusal("pytorch-is-missing", cy.BackendUnavailable, "CYC722", lambda: cy.from_torch(None, (1,)))


@pytest.fixture
def nn():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.manual_seed(0)
    return torch.nn


def lenet(nn):
    """A small one, with pictures of 12x12."""
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(1, 3, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)),
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Dropout(), nn.MaxPool2d(2)),
        nn.Flatten(),
        nn.Linear(16, 5),
        nn.Sigmoid(),
    )


MODULES = {
    "linear": (lambda nn: nn.Linear(5, 3), (4, 5)),
    "linear-without-bias": (lambda nn: nn.Linear(5, 3, bias=False), (2, 3, 5)),
    "linear-of-one-row": (lambda nn: nn.Linear(5, 3), (5,)),
    "linear-of-float64": (lambda nn: nn.Linear(5, 3).double(), (4, 5)),
    "convolution": (lambda nn: nn.Conv2d(3, 4, 3), (2, 3, 6, 5)),
    "convolution-padded": (lambda nn: nn.Conv2d(2, 3, (3, 2), padding=(2, 1), bias=False), (1, 2, 4, 5)),
    "convolution-same": (lambda nn: nn.Conv2d(2, 2, (3, 5), padding="same"), (1, 2, 6, 6)),
    "convolution-strided": (lambda nn: nn.Conv2d(2, 3, 3, stride=(2, 3), padding=1), (1, 2, 7, 8)),
    "convolution-dilated": (lambda nn: nn.Conv2d(2, 3, (2, 3), dilation=(3, 2)), (1, 2, 7, 8)),
    "convolution-in-groups": (lambda nn: nn.Conv2d(4, 6, 3, groups=2, padding="valid"), (4, 5, 5)),
    "convolution-by-depth": (lambda nn: nn.Conv2d(3, 3, 3, groups=3), (1, 3, 5, 5)),
    "attention": (lambda nn: nn.MultiheadAttention(6, 2), (5, 2, 6)),
    "attention-batch-first": (lambda nn: nn.MultiheadAttention(6, 3, batch_first=True), (2, 4, 6)),
    "attention-of-one": (lambda nn: nn.MultiheadAttention(8, 2, bias=False), (5, 8)),
    "pools": (lambda nn: nn.Sequential(nn.MaxPool2d(3, 2), nn.AvgPool2d((2, 1), 1)), (1, 2, 9, 8)),
    "flatten": (lambda nn: nn.Sequential(nn.ReLU(), nn.Flatten(0, 1), nn.Identity()), (2, 3, 4)),
    "lenet": (lenet, (2, 1, 12, 12)),
}


def expected(nn, module, x):
    import torch

    module.eval()
    with torch.no_grad():
        y = module(x, x, x, need_weights=False)[0] if isinstance(module, nn.MultiheadAttention) else module(x)
    return y.numpy()


def of_shape(module, shape):
    import torch

    dtype = next((weight.dtype for weight in module.parameters()), torch.float32)
    return torch.randn(shape, dtype=dtype)


@pytest.mark.parametrize("name", MODULES)
def test_values(nn, name):
    make, shape = MODULES[name]
    module = make(nn)
    x = of_shape(module, shape)
    network = cy.from_torch(module, shape)
    y = expected(nn, module, x)
    got = network(x)
    assert got.dtype == y.dtype
    assert network.output_shape == got.shape == y.shape
    np.testing.assert_allclose(got, y, rtol=2e-5, atol=2e-6)
    assert {layer.arguments["x"].dtype for layer in network} == {got.dtype.name}


@pytest.mark.parametrize("name", ["linear", "convolution-padded", "attention-batch-first"])
def test_simulation(nn, name):
    make, shape = MODULES[name]
    module = make(nn)
    x = of_shape(module, shape)
    network = cy.from_torch(module, shape)
    run = network.run(x)
    assert np.array_equal(run.output, network(x))
    assert run.cycles == sum(item.result.cycles for item in run) == network.run().cycles > 0
    assert network.run().output is None


def test_weights_are_inputs_of_the_programs(nn):
    """Other weights run on the same program, without compiling."""
    module = nn.Linear(5, 3)
    (layer,) = cy.from_torch(module, (4, 5))
    program = layer.compile()
    x, weight, bias = (
        np.arange(n, dtype=np.float32).reshape(s) for n, s in ((20, (4, 5)), (15, (3, 5)), (3, 3))
    )
    assert [tensor["name"] for tensor in program.tensors if tensor["role"] == "input"] == [
        "x",
        "weight",
        "bias",
    ]
    assert np.array_equal(cy.run(program, x, weight, bias, backend="sim").output, x @ weight.T + bias)
    module.weight.data.zero_()
    assert layer.weights["weight"].any(), "the weights are copies"


def test_schedules_by_layer_and_by_kernel(nn):
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 4))
    network = cy.from_torch(module, (2, 4))
    schedules = {
        "linear": cy.Schedule().space("n", "o").stream("x", along="o"),
        "2": cy.Schedule().space("o"),
    }
    run = network.run(of_shape(module, (2, 4)), schedules=schedules)
    assert [item.program.grid for item in run][::2] == [(2, 3), (4,)]
    assert [line.split()[:2] for line in str(run).splitlines()[2:]] == [
        ["0", "linear"],
        ["1", "relu"],
        ["2", "linear"],
    ]
    assert [layer.multiply_adds for layer in network] == [24, 0, 24]


REFUSED = {
    "pytorch-no-module": lambda nn: ([], (1, 4)),
    "pytorch-layer-without-kernel": lambda nn: (nn.Sequential(nn.Linear(4, 4), nn.LSTM(4, 4)), (1, 4)),
    "pytorch-input-of-another-width": lambda nn: (nn.Linear(4, 3), (2, 5)),
    "pytorch-image-of-two-axes": lambda nn: (nn.Conv2d(1, 1, 3), (5, 5)),
    "pytorch-image-of-other-channels": lambda nn: (nn.Conv2d(2, 1, 3), (1, 5, 5)),
    "pytorch-image-below-the-filter": lambda nn: (nn.Conv2d(1, 1, 7), (1, 5, 5)),
    "pytorch-reflected-border": lambda nn: (nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect"), (1, 5, 5)),
    "pytorch-padded-pool": lambda nn: (nn.MaxPool2d(3, padding=1), (1, 5, 5)),
    "pytorch-keys-of-another-width": lambda nn: (nn.MultiheadAttention(4, 2, kdim=3), (5, 4)),
    "pytorch-added-keys": lambda nn: (nn.MultiheadAttention(4, 2, add_bias_kv=True), (5, 4)),
    "pytorch-half-weights": lambda nn: (nn.Linear(4, 3).half(), (2, 4)),
    "pytorch-weights-without-numbers": lambda nn: (nn.Linear(4, 3, device="meta"), (2, 4)),
    "pytorch-no-shape": lambda nn: (nn.Linear(4, 3), 4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(nn, name):
    module, shape = REFUSED[name](nn)
    with pytest.raises(cy.CyclotronError) as caught:
        cy.from_torch(module, shape)
    assert caught.value.code == "CYC742"
    assert caught.value.help


def test_refusals_of_runs(nn):
    network = cy.from_torch(nn.Linear(4, 3), (2, 4))
    with pytest.raises(cy.ShapeError, match="the input is 2x5 and the network takes 2x4"):
        network(np.ones((2, 5), np.float32))
    with pytest.raises(cy.ScheduleError, match="neither a layer nor a kernel `fc`"):
        network.run(schedules={"fc": cy.Schedule()})


@pytest.fixture(scope="module")
def page():
    """The program of the how-to, and what it prints."""
    text = (Path(__file__).resolve().parents[2] / "docs/howto/pytorch.md").read_text()
    (table,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    part = text.split("\n## From ONNX\n")[0]
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)), table


def test_the_page_on_pytorch(nn, page, capsys):
    exec(page[0], {})
    assert capsys.readouterr().out.startswith(page[1])
