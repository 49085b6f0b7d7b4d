"""Kernels to programs, and views of programs, which are imported when they are asked for."""

from cyclotron.support.lazy import lazy_names

_HOMES = {
    "dataflow": ["Dataflow"],
    "dependences": ["analyze", "schedule_tree", "space_loops"],
    "explain": ["Explanation"],
    "generators": ["decoded", "generator_of"],
    "memory_map": ["MemoryMap"],
    "pe_class": ["PeClass"],
    "proof": ["check_program", "least_depths"],
    "roles": ["Roles"],
    "routes": ["Routes"],
    "sections": ["Sections"],
}
__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
