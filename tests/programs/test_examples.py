"""The examples run as a newcomer would run them."""

import os
import subprocess
import sys
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


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_example(path, tmp_path):
    assert len(path.read_text().splitlines()) <= 80
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(picture.name for picture in tmp_path.iterdir()) == PICTURES.get(path.stem, [])
    assert all(picture.stat().st_size > 6_000 for picture in tmp_path.iterdir())
    if path.stem == "quickstart":
        assert done.stdout.count("same bits") == 6
