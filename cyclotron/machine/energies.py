"""Energies with published numbers, for `Machine.energy`; each docstring says what is from where.

Examples
--------
>>> cy.energies.horowitz_45nm().operation_picojoules["multiply"]["int8"]
0.2
"""

from __future__ import annotations

from cyclotron.machine.energy import Energy
from cyclotron.machine.parts import positive, unfit

__all__ = ["eyeriss", "horowitz_45nm", "tpu_v1"]

# M. Horowitz, "Computing's energy problem (and what we can do about it)", ISSCC 2014, figure 1.1.9: in pJ.
_ADD = {"int8": 0.03, "int32": 0.1, "float16": 0.4, "float32": 0.9}
_MULTIPLY = {"int8": 0.2, "int32": 3.1, "float16": 1.1, "float32": 3.7}
_CACHES = {8: 10.0, 32: 20.0, 1024: 100.0}  # pJ of 64 bits, by KiB
_DRAM = (1300.0, 2600.0)

# N. P. Jouppi et al., ISCA 2017, table 2: in W, at 700 MHz, of 256 x 256 cells.
_TPU = {"idle": 28.0, "busy": 40.0, "tdp": 75.0}


def __dir__() -> list[str]:
    return __all__


def horowitz_45nm(*, sram_kib: int = 8, dram: str = "low") -> Energy:
    """Return the energies of a 45 nm process at 0.9 V: M. Horowitz, ISSCC 2014, figure 1.1.9.

    Additions and multiplications of int8, int32, float16 and float32; unsigned integers as those with sign,
    and a comparison as an addition. A byte of a PE's memory is an eighth of a 64-bit access of a cache of
    that size, and a byte of every other memory an eighth of one of DRAM. The figure has no hops, no
    registers and no leakage: they are 0 here; `dataclasses.replace` gives them.

    Parameters
    ----------
    sram_kib : {8, 32, 1024}
        The cache: 10, 20 or 100 pJ for 64 bits.
    dram : {"low", "high"}
        The end of the figure's range: 1300 or 2600 pJ for 64 bits.

    Raises
    ------
    ShapeError
        CYC401 for other sizes.

    Examples
    --------
    >>> cy.energies.horowitz_45nm(sram_kib=32).sram_picojoules_per_byte
    2.5
    """
    if sram_kib not in _CACHES or dram not in ("low", "high"):
        raise unfit(
            f"there are no numbers for {sram_kib} KiB and `{dram}` DRAM",
            'sram_kib is 8, 32 or 1024, dram is "low" or "high"',
        )

    def operations(numbers: dict[str, float]) -> dict[str, float]:
        return {**numbers, "uint8": numbers["int8"], "uint32": numbers["int32"]}

    return Energy(
        operation_picojoules={
            "add": operations(_ADD),
            "multiply": operations(_MULTIPLY),
            "maximum": operations(_ADD),
            "absolute": operations(_ADD),
        },
        sram_picojoules_per_byte=_CACHES[sram_kib] / 8,
        memory_picojoules_per_byte={"default": _DRAM[dram == "high"] / 8},
        source="Horowitz, ISSCC 2014, figure 1.1.9 (45 nm, 0.9 V)",
    )


def eyeriss(mac_picojoules: float) -> Energy:
    """Return Eyeriss' relative energies, of 16-bit words, times that of a multiply-add of 16 bits.

    Y.-H. Chen, J. Emer, V. Sze, "Eyeriss: a spatial architecture for energy-efficient dataflow for
    convolutional neural networks", ISCA 2016, table IV: relative to a multiply-add, a word of a PE's register
    file costs 1, from PE to PE 2, of the global buffer 6, of DRAM 200. Here registers and the PEs' memory are
    the register file, the memory ``"buffer"`` is the global buffer and every other one DRAM; half of the
    multiply-add is the multiplication.

    Parameters
    ----------
    mac_picojoules : float
        Of a multiply-add of 16-bit numbers, which the paper does not give.

    Raises
    ------
    ShapeError
        CYC401 or CYC402 if it is no positive number.

    Examples
    --------
    >>> cy.energies.eyeriss(1.0).memory_picojoules_per_byte["buffer"]
    3.0
    """
    unit = positive("energy.mac_picojoules", mac_picojoules)
    half = dict.fromkeys(("int16", "uint16", "float16"), unit / 2)
    return Energy(
        operation_picojoules={"add": half, "multiply": half, "maximum": half},
        hop_picojoules_per_byte=2 * unit / 2,
        register_picojoules_per_byte=unit / 2,
        sram_picojoules_per_byte=unit / 2,
        memory_picojoules_per_byte={"buffer": 6 * unit / 2, "default": 200 * unit / 2},
        source=f"Eyeriss, ISCA 2016, table IV, of {unit:g} pJ a multiply-add",
    )


def tpu_v1(power: str = "busy") -> Energy:
    """Return the power of Google's first TPU as the energy of time: that of the chip, shared by its cells.

    N. P. Jouppi et al., "In-Datacenter Performance Analysis of a Tensor Processing Unit", ISCA 2017, table 2:
    of the chip, at 700 MHz, 28 W idle and 40 W busy, both measured, and 75 W TDP. The paper tells nothing of
    its parts: operations and words are free here, and each of the 256×256 cells takes its share for as long
    as a run takes, so that a run on all of them, `machines.tpu_v1`, takes that power.

    Parameters
    ----------
    power : {"busy", "idle", "tdp"}
        Which one.

    Raises
    ------
    ShapeError
        CYC401 for another one.

    Examples
    --------
    >>> round(cy.energies.tpu_v1().leakage_picojoules_per_cycle * 700e6 * 256**2 / 1e12)
    40
    """
    if power not in _TPU:
        raise unfit(f"there is no power `{power}` of the TPU", f"it is one of: {', '.join(_TPU)}")
    free = dict.fromkeys(("int8", "uint8", "int32"), 0.0)
    return Energy(
        operation_picojoules=dict.fromkeys(("add", "multiply", "maximum", "absolute"), free),
        memory_picojoules_per_byte={"default": 0.0},
        leakage_picojoules_per_cycle=_TPU[power] / 700e6 / 256**2 * 1e12,
        source=f"Jouppi et al., ISCA 2017, table 2 ({power}, {_TPU[power]:g} W)",
    )
