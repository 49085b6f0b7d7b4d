"""`python -m cyclotron doctor`: is everything installed, and does it work?"""

from __future__ import annotations

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m cyclotron", description="Cyclotron's own commands.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("doctor", help="check every backend, and say what to install where one is missing")
    commands.add_parser("config", help="print the versions of everything Cyclotron uses")
    command = parser.parse_args(arguments).command
    if command == "config":
        from cyclotron.support.environment import show_config

        show_config()
        return 0
    from cyclotron.doctor import doctor

    return doctor()


if __name__ == "__main__":
    sys.exit(main())
