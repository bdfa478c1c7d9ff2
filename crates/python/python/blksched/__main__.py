"""The whole command line: `python -m blksched compare`."""

from __future__ import annotations

import sys

from ._blksched import main as _main


def main() -> None:
    sys.exit(_main(["blksched", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
