"""Where the tables of a reporter go."""

from rich.console import Console

PIPED_WIDTH = 100


def stdout_console() -> Console:
    """Return a console on stdout, as wide as the terminal, or 100 columns when it is piped."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPED_WIDTH)
