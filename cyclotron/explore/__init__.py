"""Design-space exploration: sweeps, systolic arrays, predictions, SCALE-Sim."""
