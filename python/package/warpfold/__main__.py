"""The commands of the package: `python -m warpfold doctor`."""

from __future__ import annotations

import argparse
import sys

from ._doctor import doctor
from ._native import __version__


def main(arguments: list[str] | None = None) -> int:
    """Run a command, and return the status of the process."""
    parser = argparse.ArgumentParser(prog="python -m warpfold")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    about = "say what is here, what a call would run on, and what does not work"
    commands.add_parser("doctor", help=about, description=f"{about.capitalize()}.")
    parser.parse_args(arguments)
    return doctor(print)


if __name__ == "__main__":
    sys.exit(main())
