"""The examples run as a newcomer would run them."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "pictures")
PICTURES = {
    "attention_activity": ["attention_activity.png"],
    "bicgstab": ["bicgstab.png"],
    "bitonic_sort": ["bitonic_sort.png"],
    "cholesky_utilization": ["cholesky_utilization.png", "cholesky_utilization_wavefront.png"],
    "conjugate_gradient": ["conjugate_gradient.png"],
    "convolution": ["convolution_utilization.png"],
    "critical_path": ["critical_path.png", "roofline.png"],
    "design_space": ["design_space.png"],
    "fft": ["fft.png"],
    "gmres": ["gmres.png"],
    "heat": ["heat.png"],
    "heat_3d": ["heat_3d.png"],
    "implicit_heat": ["implicit_heat.png"],
    "ising": ["ising.png"],
    "kalman": ["kalman.png"],
    "kmeans": ["kmeans.png"],
    "lattice_boltzmann": ["lattice_boltzmann.png"],
    "life": ["life.png"],
    "lstm": ["lstm.png"],
    "mach_listing": ["mach_listing.png"],
    "maxwell": ["maxwell.png"],
    "memory_bound": ["memory_roofline.png", "memory_stalls.png"],
    "molecular_dynamics": ["molecular_dynamics.png"],
    "multigrid": ["multigrid.png"],
    "navier_stokes": ["navier_stokes.png"],
    "particles": ["particles.png"],
    "poisson": ["poisson.png"],
    "potts": ["potts.png"],
    "quickstart": ["quickstart_utilization.png"],
    "scale_sim": ["scale_sim.png"],
    "shallow_water": ["shallow_water.png"],
    "sparse_cg": ["sparse_cg.png"],
    "sparse_matvec": ["sparse_matvec.png"],
    "stencil": ["stencil_utilization.png"],
    "tree_reduction": ["tree_stalls.png"],
    "transformer": ["transformer.png"],
    "trsm_utilization": ["trsm_utilization.png"],
    "two_phase_flow": ["two_phase_flow.png"],
    "waves": ["waves.png"],
}


@pytest.fixture(scope="module")
def run_script():
    """`run_script(path, folder)` gives a script's exit status, output and errors; imports are done once."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, str(Path(__file__).parent / "example_server.py")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        tempfile.TemporaryDirectory() as texts,
        subprocess.Popen(command, env=environment, **pipes) as server,
    ):

        def run(path, folder):
            streams = [Path(texts) / "output", Path(texts) / "errors"]
            for stream in streams:
                stream.write_text("")
            server.stdin.write(json.dumps([str(one) for one in (path, folder, *streams)]) + "\n")
            server.stdin.flush()
            return int(server.stdout.readline()), *(stream.read_text() for stream in streams)

        yield run


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example(path, tmp_path, run_script):
    assert len(path.read_text().splitlines()) <= 80
    status, output, errors = run_script(path, tmp_path)
    assert status == 0, errors
    assert "Traceback" not in errors
    assert sorted(picture.name for picture in tmp_path.iterdir()) == PICTURES.get(path.stem, [])
    assert all(picture.stat().st_size > 6_000 for picture in tmp_path.iterdir())
    if path.stem == "quickstart":
        assert output.count("same bits") == 6


def test_what_fails_is_seen(tmp_path, run_script):
    script = tmp_path / "wrong.py"
    script.write_text("import sys\nprint('begun')\nsys.exit(3) if len(sys.argv) > 1 else 1 / 0\n")
    status, output, errors = run_script(script, tmp_path)
    assert (status, output) == (1, "begun\n")
    assert "ZeroDivisionError" in errors
    script.write_text("import os\nos.abort()\n")
    assert run_script(script, tmp_path)[0] < 0
    script.write_text("print('right')\n")
    assert run_script(script, tmp_path) == (0, "right\n", "")
