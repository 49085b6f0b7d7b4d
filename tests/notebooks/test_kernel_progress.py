"""Long runs in a kernel of Jupyter: a bar that moves below the cell, and an interrupt that ends them."""

import os
import time
from pathlib import Path

import pytest

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[2]
KERNEL = """
import cyclotron as cy

@cy.kernel
def matmul(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C

program = matmul.compile(cy.spec((8, 10**8)), cy.spec((10**8, 8)), schedule=cy.Schedule().space("i", "j"))
"""
RUN = 'cy.run(program, backend="sim", functional=False, engine="general")'


def test_bar_and_interrupt(monkeypatch):
    """The run would take minutes."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    try:
        shown, interrupted = [], []

        def look(message):
            if message["msg_type"] in ("display_data", "update_display_data"):
                shown.append(message["content"]["data"])
                if len(shown) == 2:
                    interrupted.append(time.monotonic())
                    manager.interrupt_kernel()

        client.execute_interactive(KERNEL, timeout=60, output_hook=look)
        reply = client.execute_interactive(RUN, timeout=60, output_hook=look)
        waited = time.monotonic() - interrupted[0]
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert waited < 5
        assert all('<progress max="1"' in data["text/html"] for data in shown[:2])
        assert all(data["text/plain"].startswith("simulating matmul ") for data in shown)
        assert "took" in shown[-1]["text/plain"]
        values = []
        client.execute_interactive("print(program.grid)", timeout=60, output_hook=values.append)
        assert any(m["content"].get("text") == "(8, 8)\n" for m in values)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
