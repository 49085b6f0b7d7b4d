"""The worth of a register file: the same product, kept in the PEs in different ways, as its values fit.

On 4x4 PEs of banked memory, each PE has a 4x4 part of what stays. An output-stationary PE reads and writes a
different element of C at each step, so that all of them have to fit to be at full rate; a PE that keeps an
operand reads it alone, from another bank than what passes through.
"""

from matmul_dataflows import DATAFLOWS, matmul

import cyclotron as cy

N = 16
REGISTERS = [0, 1, 4, 16, 17, 32]
BANKS = [1, 2, 8]
STATIONARY = {name: DATAFLOWS[name] for name in DATAFLOWS if name.endswith("stationary")}


def sweep():
    return cy.sweep(
        matmul,
        *[cy.spec((N, N))] * 2,
        machine=cy.Machine(),
        schedule=STATIONARY,
        grid=[(4, 4)],
        banks=BANKS,
        registers=REGISTERS,
    )


def main():
    cycles = {(r["schedule"], r["banks"], r["registers"]): r["cycles"] for r in sweep()}
    print(f"{'cycles with registers':28}" + "".join(f"{registers:>7}" for registers in REGISTERS))
    for name in STATIONARY:
        for banks in BANKS:
            row = "".join(f"{cycles[name, banks, registers]:7,}" for registers in REGISTERS)
            print(f"{name}, {banks} bank{'s' * (banks > 1)}".ljust(28) + row)
    machine = cy.Machine(grid=(4, 4), pe=cy.PE(registers=17, banks=2))
    program = matmul.compile(
        *[cy.spec((N, N))] * 2, schedule=STATIONARY["output stationary"], machine=machine
    )
    print(f"\nwhere a PE of {machine} has its values:\n{str(program.memory).split('class 1')[0]}")


if __name__ == "__main__":
    main()
