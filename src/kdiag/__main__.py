"""`python -m kdiag`."""

from kdiag.cli import main

if __name__ == "__main__":
    main()
