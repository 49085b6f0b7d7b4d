"""Machines: grids, links, memories, units and controllers as plain data, and models of real ones."""
