"""What `kdiag doctor` found: a line for each card, a table of tools, and what each missing one costs."""

from rich.table import Table
from rich.text import Text

from kdiag.records.environment import Card, Environment, Tool

from .stdout import stdout_console

GOOD, BAD, UNSURE = ("ok", "green"), ("missing", "red"), ("?", "yellow")
LIMITED = ("limited", "yellow")

Row = tuple[Text, Text]


def render(environment: Environment) -> None:
    """Print the findings to stdout, as wide as the terminal, or 100 columns when it is piped."""
    console = stdout_console()
    console.print(_summary(environment))
    console.print()
    console.print(_table([tool for tool in environment.tools if not (tool.required and tool.usable)]))
    console.print()
    for tool in environment.tools:
        if not tool.usable:
            console.print(_loss(tool))


def _summary(environment: Environment) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    for row in (_packages(environment), *_cards(environment), _driver(environment), _counters(environment)):
        table.add_row(*row)
    return table


def _packages(environment: Environment) -> Row:
    required = [tool for tool in environment.tools if tool.required]
    missing = [tool.name for tool in required if not tool.usable]
    state = f"without {', '.join(missing)}" if missing else "with all packages it needs"
    return _line("kdiag", f"Python {environment.python}, {state}", BAD if missing else GOOD)


def _cards(environment: Environment) -> list[Row]:
    if not environment.cards:
        return [_line("GPU", f"none found ({environment.no_cards}); reports, sources and the compiler need none", BAD)]
    return [
        _line("GPU", _card(card), {True: GOOD, False: BAD, None: UNSURE}[card.cutile]) for card in environment.cards
    ]


def _card(card: Card) -> str:
    capability = card.compute_capability
    parts = [
        card.name,
        " ".join(part for part in (card.architecture, capability and f"(compute capability {capability})") if part),
        f"{card.memory_mib / 1024:,.0f} GiB" if card.memory_mib else "",
        {True: "", False: "not supported by cuTile", None: "compute capability unknown"}[card.cutile],
        "limits known" if card.limits_known else "limits unknown unless the report holds them",
    ]
    return ", ".join(part for part in parts if part)


def _driver(environment: Environment) -> Row:
    if environment.driver is None:
        return _line("driver", "none found", BAD)
    problem = environment.driver_problem
    return _line("driver", f"{environment.driver}{problem and ': ' + problem}", BAD if problem else GOOD)


def _counters(environment: Environment) -> Row:
    access = environment.counters
    return _line("counters", access.reason, {True: GOOD, False: BAD, None: UNSURE}[access.allowed])


def _line(title: str, text: str, state: tuple[str, str]) -> Row:
    return Text(title, "bold"), Text(text, "" if state is GOOD else state[1])


def _table(tools: list[Tool]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for title in ("tool", "state", "version"):
        table.add_column(title, no_wrap=True)
    table.add_column("where", overflow="fold")  # the only column that gives way
    for tool in tools:
        word, colour = GOOD if tool.usable else LIMITED if tool.found else BAD
        table.add_row(Text(tool.name, "bold"), Text(word, colour), tool.version or "-", Text(tool.path or "", "dim"))
    return table


def _loss(tool: Tool) -> Text:
    if tool.found:
        return Text.assemble((tool.name, "bold"), f": {tool.problem}")
    return Text.assemble(("without ", "dim"), (tool.name, "bold"), f": {tool.without}")
