"""What kernels call, as `cy.exp` and `cy.sum`: symbolic while tracing, NumPy otherwise."""
