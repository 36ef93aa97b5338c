"""The options of `%%responses`, as one table: the parser, the help text and the completions are all made from it.

Never reads settings or the notebook's namespace, never sends anything. A mistake in the line is a one-line UsageError.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError

from nbresponses_magics import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "EFFORTS",
    "EXAMPLES",
    "HOSTED_TOOLS",
    "OPTIONS",
    "Option",
    "Options",
    "closest",
    "help_text",
    "parse",
    "split",
]

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

# What completion offers after --hosted; any other tool type is sent as it is written.
HOSTED_TOOLS: dict[str, tuple[str, ...]] = {
    "code_interpreter": ("container",),
    "computer_use_preview": ("display_width", "display_height", "environment"),
    "file_search": ("vector_store_ids", "max_num_results"),
    "image_generation": ("partial_images", "size", "quality", "background", "output_format", "model"),
    "local_shell": (),
    "mcp": ("server_label", "server_url", "require_approval", "allowed_tools"),
    "web_search": ("search_context_size", "user_location", "filters"),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its flags, the name of its value (None: a switch), its help, and what completes its value."""

    flags: tuple[str, ...]
    value: str | None
    help: str
    read: Callable[[str], Any] = str
    repeats: bool = False
    completes: str = ""

    @property
    def field(self) -> str:
        return self.flags[-1].lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Options:
    """What one line asks for. None where nothing was said."""

    model: str | None = None
    instructions: str | None = None
    reasoning: str | None = None
    no_summary: bool = False
    max_output_tokens: int | None = None
    temperature: float | None = None
    hosted: tuple[dict[str, Any], ...] = ()
    param: tuple[tuple[str, Any], ...] = ()
    image: tuple[str, ...] = ()
    file: tuple[str, ...] = ()
    format: str | None = None
    tools: tuple[str, ...] = ()
    confirm: bool = False
    handlers: str | None = None
    resume: str | None = None
    cancel_on_interrupt: bool = False
    previous: str | None = None
    continue_: bool = False
    background: bool = False
    lane: str | None = None
    default_lane: bool = False
    fork_from: str | None = None
    new: bool = False
    warm_up: bool = False
    steer: bool = False
    no_wait: bool = False
    base_url: str | None = None
    insecure: bool = False
    out: str | None = None
    capture: str | None = None
    replay: str | None = None
    speed: float | None = 1.0
    json: bool = False
    raw: bool = False
    quiet: bool = False
    no_widget: bool = False
    no_execute: bool = False

    @property
    def calls(self) -> bool:
        """Whether calls of the model are answered here."""
        return bool(self.tools) or self.confirm or self.handlers is not None

    @property
    def on_lane(self) -> bool:
        """Whether the request goes over a lane."""
        return self.lane is not None or self.default_lane


OPTIONS: tuple[Option, ...] = (
    Option(("-m", "--model"), "MODEL", "the model that answers", completes="model"),
    Option(("-s", "--instructions"), "TEXT", "instructions for this request"),
    Option(("--reasoning",), "EFFORT", "reasoning effort, and a summary of the reasoning", completes="effort"),
    Option(("--no-summary",), None, "with --reasoning: do not ask for the summary"),
    Option(("--max-output-tokens",), "N", "upper limit of generated tokens, reasoning included", read=int),
    Option(("--temperature",), "T", "sampling temperature", read=float),
    Option(
        ("--hosted",),
        "TOOL[:key=value,...]",
        "a tool that the server runs; may be repeated",
        read=values.hosted,
        repeats=True,
        completes="hosted",
    ),
    Option(
        ("-p", "--param"),
        "key=value",
        "any other field of the request; the value as JSON, else as a string; may be repeated",
        read=values.pair,
        repeats=True,
    ),
    Option(
        ("--image",),
        "SOURCE",
        "show a picture: a path, a link, or a variable with a figure, a PIL image, an array or bytes; may be repeated",
        repeats=True,
        completes="source",
    ),
    Option(
        ("--file",),
        "SOURCE",
        "show a file: a path or a variable; of a DataFrame its rows go along as text; may be repeated",
        repeats=True,
        completes="source",
    ),
    Option(
        ("--format",),
        "TYPE",
        "answer as an object of this class, type or JSON schema of the notebook",
        completes="name",
    ),
    Option(("--tools",), "NAMES", "functions of the notebook that the model may call", values.names, completes="name"),
    Option(
        ("--confirm",), None, "ask before each call of a function, and for each approval that a server's tool needs"
    ),
    Option(
        ("--handlers",),
        "NAME",
        "a dict of the notebook, item type or tool name: function, for the calls that are no functions of --tools",
        completes="name",
    ),
    Option(("--previous",), "ID", "continue from this response"),
    Option(("-c", "--continue"), None, "continue from the last completed answer of this notebook"),
    Option(("--background",), None, "let the server go on with the response when the connection ends"),
    Option(
        ("--resume",),
        "ID",
        "take up a response that runs or ran in the background, from its first event; needs no cell",
    ),
    Option(
        ("--cancel-on-interrupt",),
        None,
        "with --background or --resume: an interrupt cancels on the server too; else it goes on there",
    ),
    Option(("--lane",), "NAME", "send it over this lane, continuing its latest answer", completes="lane"),
    Option(("--default-lane",), None, "send it over the lane without a name"),
    Option(("--fork-from",), "LANE", "with --lane: continue from that lane's latest answer", completes="lane"),
    Option(("--new",), None, "with a lane: start anew instead of continuing its latest answer"),
    Option(("--warm-up",), None, "with a lane: prepare the server for the next request, and generate nothing"),
    Option(
        ("--steer",), None, "with a lane: the cell steers what is running there; the answer that follows is shown here"
    ),
    Option(("--no-wait",), None, "return at once; the answer goes on streaming into this output while other cells run"),
    Option(("--base-url",), "URL", "another server, ending in /v1 as a rule"),
    Option(("--insecure",), None, "allow the key to be sent over plain http to a host other than this machine"),
    Option(("-o", "--out"), "NAME", "bind the result to this variable too", read=values.name, completes="name"),
    Option(("--capture",), "FILE", "write every message to this file as it arrives (JSON lines)", completes="file"),
    Option(
        ("--replay",), "FILE", "show a captured stream again; nothing is sent, so it needs no cell", completes="file"
    ),
    Option(("--speed",), "N", "with --replay: 2 is twice as fast, max does not wait (default 1)", read=values.speed),
    Option(("--json",), None, "the cell is the whole request body, as JSON"),
    Option(("--raw",), None, "send the cell as it stands: {{...}} is not replaced"),
    Option(("-q", "--quiet"), None, "show nothing; the result is in _responses"),
    Option(("--no-widget",), None, "show the answer by display updates, never by a widget"),
    Option(("-N", "--no-execute"), None, "show the request that would be sent, and do not send it"),
)

EXAMPLES: dict[str, tuple[str, ...]] = {
    "model": ("-m gpt-5-mini",),
    "instructions": ('-s "Answer in German."',),
    "reasoning": ("--reasoning low",),
    "max-output-tokens": ("--max-output-tokens 500",),
    "temperature": ("--temperature 0.2",),
    "hosted": ("--hosted web_search", "--hosted image_generation:partial_images=3"),
    "param": ("-p store=false", '-p \'text={"verbosity": "low"}\''),
    "image": ("--image plot.png", "--image figure"),
    "file": ("--file paper.pdf",),
    "format": ("--format Book", "--format list[Book]"),
    "handlers": ("--handlers mine",),
    "tools": ("--tools weather,look_up",),
    "previous": ("--previous resp_123",),
    "resume": ("%responses --resume resp_123",),
    "lane": ("--lane planner",),
    "fork-from": ("--lane critic --fork-from planner",),
    "warm-up": ("%responses --lane planner --warm-up",),
    "base-url": ("--base-url http://127.0.0.1:8080/v1",),
    "out": ("-o answer", "%%responses answer << -m gpt-5"),
    "capture": ("--capture run.jsonl",),
    "replay": ("%responses --replay run.jsonl",),
}
"""Long name of an option → how it is written; docs/magics.md shows them."""

_FIELDS = {"continue": "continue_"}  # a keyword of Python cannot be a field
_ASSIGNMENT = re.compile(r"\s*([^\s<]+)\s*<<(?!<)\s*(.*)", re.DOTALL)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse would print a usage block and exit the interpreter.
        raise UsageError(message.removeprefix("argument "))


def _parser() -> _Parser:
    parser = _Parser(prog="%%responses", add_help=False, allow_abbrev=False, usage="%%%%responses [NAME <<] [options]")
    for option in OPTIONS:
        dest = _FIELDS.get(option.field, option.field)
        if option.value is None:
            parser.add_argument(*option.flags, dest=dest, action="store_true", help=option.help)
            continue
        action = "append" if option.repeats else "store"
        parser.add_argument(
            *option.flags,
            dest=dest,
            action=action,
            type=option.read,
            metavar=option.value,
            help=option.help,
            default=argparse.SUPPRESS,
        )
    return parser


def parse(line: str) -> Options:
    """Read the line of a `%%responses` cell (what follows the magic's name).

    Raises:
        UsageError: one line that names what is wrong, with the closest option where one is misspelled.
    """
    assigned, rest = _assignment(line)
    known, unknown = _parser().parse_known_args(split(rest))
    if unknown:
        raise UsageError(_unknown(unknown[0]))
    said: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in vars(known).items()
    }
    if assigned is not None:
        if said.get("out", assigned) != assigned:
            raise UsageError(f"two names for the result: {assigned} << and --out {said['out']}")
        said["out"] = assigned
    options = Options(**said)
    _check(options)
    return options


def split(line: str) -> list[str]:
    """Split as a shell does: quotes group words. UsageError on an unbalanced quote."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    if os.name == "nt":
        lexer.escape = ""  # a backslash separates folders there
    try:
        return list(lexer)
    except ValueError:
        raise UsageError(f"unbalanced quote in: {line.strip()}") from None


def closest(word: str, names: Iterable[str]) -> str:
    """ ", did you mean X?" for the name most like `word`, or "" where none is."""
    found = difflib.get_close_matches(word, list(names), n=1, cutoff=0.5)
    return f", did you mean {found[0]}?" if found else ""


def help_text() -> str:
    """The options with their help, 100 columns wide."""

    def formatter(prog: str) -> argparse.HelpFormatter:
        return argparse.HelpFormatter(prog, max_help_position=32, width=100)

    parser = _parser()
    parser.formatter_class = formatter
    return parser.format_help()


def _assignment(line: str) -> tuple[str | None, str]:
    """`NAME << rest` → (NAME, rest); anything else → (None, line)."""
    match = _ASSIGNMENT.fullmatch(line)
    if match is None:
        return None, line
    try:
        return values.name(match[1]), match[2]
    except argparse.ArgumentTypeError as error:
        raise UsageError(str(error)) from None


def _unknown(word: str) -> str:
    if not word.startswith("-"):
        return f"unexpected {word!r} on the %%responses line: the prompt goes below it, in the cell"
    flag = word.partition("=")[0]
    return f"unknown option {flag}" + closest(flag, [flag for option in OPTIONS for flag in option.flags])


def _check(options: Options) -> None:
    """Refuse what contradicts itself."""
    if options.previous is not None and options.continue_:
        raise UsageError("--previous and --continue exclude each other")
    if options.no_summary and options.reasoning is None:
        raise UsageError("--no-summary needs --reasoning EFFORT")
    _check_lane(options)
    _check_calls_and_resume(options)
    if options.replay is None:
        if options.speed != _default("speed"):
            raise UsageError("--speed needs --replay FILE")
    elif options.no_execute or options.capture:
        other = "--no-execute" if options.no_execute else "--capture"
        raise UsageError(f"--replay and {other} exclude each other: a replay sends nothing")


def _check_calls_and_resume(options: Options) -> None:
    if options.calls:
        for name in ("no_wait", "warm_up", "steer", "resume", "replay", "background"):
            if getattr(options, name):
                raise UsageError(
                    f"--tools, --confirm and --handlers exclude --{name.replace('_', '-')}: the cell answers the calls"
                )
    if options.resume is not None:
        for name in ("on_lane", "replay", "previous", "continue_", "background", "image", "file", "no_execute"):
            if getattr(options, name):
                raise UsageError("--resume takes up a response as it is: no lane, no replay, no other input with it")
    if options.cancel_on_interrupt and not (options.background or options.resume):
        raise UsageError("--cancel-on-interrupt needs --background or --resume ID")


def _check_lane(options: Options) -> None:
    if options.lane is not None and options.default_lane:
        raise UsageError("--lane and --default-lane exclude each other")
    if not options.on_lane:
        for name in ("fork_from", "new", "warm_up", "steer"):
            if getattr(options, name):
                raise UsageError(f"--{name.replace('_', '-')} needs --lane NAME (or --default-lane)")
        return
    origins = {"--fork-from": options.fork_from, "--previous": options.previous, "--new": options.new}
    given = [name for name, value in origins.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other: each says what the request continues from")
    if options.continue_:
        raise UsageError("--continue is not needed on a lane: it continues its latest answer by itself")
    if options.background or options.replay is not None:
        other = "--background" if options.background else "--replay"
        raise UsageError(f"{other} is not possible on a lane")
    if options.steer and (given or options.warm_up):
        raise UsageError("--steer adds to what is running: it takes no origin and no --warm-up")


def _default(name: str) -> Any:
    return next(field.default for field in dataclasses.fields(Options) if field.name == name)
