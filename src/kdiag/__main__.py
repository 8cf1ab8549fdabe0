"""`kdiag` and `python -m kdiag`: an interrupt is one line from the first moment on, also while modules are imported."""

import sys


def main() -> None:
    """Run the command line and end with its exit code."""
    code = 130
    try:
        from . import cli

        code = cli.main()
    except KeyboardInterrupt:
        sys.stderr.write("kdiag: interrupted\n")
    import signal  # takes time as well

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is said
    exec("")  # noqa: S102 - an interrupt in such code is remembered, and `python -m` would end by it
    sys.exit(code)


if __name__ == "__main__":
    main()
