"""`python -m tilewright`: the command line."""

from tilewright.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
