"""The application: all commands, the options they share, and how errors end them."""

from __future__ import annotations

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import efge
from efge.cli.commands import COMMANDS, load_function
from efge.cli.console import VERBOSITY, Verbosity, describe_in_shell, log_info
from efge.errors import did_you_mean

# A message that quotes a hostile file may be as long as that file.
_MAX_MESSAGE_LENGTH = 5000
_VERBOSITY_FLAGS = ("--quiet", "--verbose", "--debug")
# Base class of Typer's errors about wrong options; the module that holds it differs between versions.
_UsageError: Any = typer.BadParameter.__mro__[1]


class _Group(TyperGroup):
    """The commands; one is imported when it is called. Verbosity flags stand before or after its name.

    Without a command, the help is what was asked for, on standard output.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        flags = [arg for arg in args[:end] if arg in _VERBOSITY_FLAGS]
        others = [arg for arg in args[:end] if arg not in _VERBOSITY_FLAGS]
        return list(super().parse_args(ctx, flags + (others + args[end:] or ["--help"])))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}{did_you_mean(args[0], COMMANDS)}")
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if name is None or command is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command of ``efge`` with all of its options."""
    function, epilog = load_function(name), f"Example: {COMMANDS[name].example}"
    if isinstance(function, typer.Typer):
        function.info.name, function.info.epilog = name, epilog
        return typer.main.get_group(function)
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    single.command(name, epilog=epilog)(function)
    return typer.main.get_command(single)


def _is_listed() -> None:
    """Stand for a command in the help; the command itself is imported when it is called."""


app = typer.Typer(
    name="efge",
    cls=_Group,
    help="Learn vectors for the nodes of a graph by exponential family graph embedding, and use them.",
    epilog="Example: efge embed friends.csv -o vectors.npz && efge neighbors vectors.npz ann",
    pretty_exceptions_enable=False,
    # Plain text: Rich would double the time of the help.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.summary, short_help=_command.summary)(_is_listed)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"efge {efge.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print more details.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
) -> None:
    _set_verbosity(quiet, verbose, debug)


def _set_verbosity(quiet: bool = False, verbose: bool = False, debug: bool = False) -> None:
    VERBOSITY.quiet, VERBOSITY.verbose, VERBOSITY.debug = quiet, verbose, debug
    VERBOSITY.if_interrupted = Verbosity.if_interrupted


def run(is_stopped: Callable[[], bool]) -> int:
    """Run the command that the arguments name, and return the exit code; `is_stopped` tells whether a signal came."""
    # An error may come before the options are known; those of a command before, in the same process, do not count.
    _set_verbosity()
    # Importing libraries creates many objects and hardly any garbage; collecting it took a tenth of the time to start.
    old_threshold = gc.get_threshold()
    gc.set_threshold(100_000, *old_threshold[1:])
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *details: log_info(describe_in_shell(str(message)))
            return _run(is_stopped)
    finally:
        gc.set_threshold(*old_threshold)


def _run(is_stopped: Callable[[], bool]) -> int:
    try:
        code = _invoke(is_stopped)
    except _UsageError as error:
        command = getattr(error.ctx, "command_path", None) or "efge"
        return _fail(f"{error.format_message()} ({_example_of(error)}see {command} --help)", error)
    except BrokenPipeError:
        # The reader of our output has closed it; flushing the rest at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (ValueError, ImportError, efge.TrainingError, efge.ClusterError) as error:
        return _fail(str(error), error)
    except OSError as error:
        return _fail(_describe_system_error(error), error)
    except MemoryError as error:
        details = f": {error}" if str(error) else ""
        return _fail(f"not enough memory{details}; choose a smaller --dim or a smaller graph", error)
    return code if isinstance(code, int) else 0


def _example_of(error: Any) -> str:
    """Return the example of a command that lacks an argument or an option, and nothing for other mistakes."""
    known = COMMANDS.get(getattr(error.ctx, "info_name", None) or "")
    return f"example: {known.example}; " if known and type(error).__name__ == "MissingParameter" else ""


def _describe_system_error(error: OSError) -> str:
    message = error.strerror or str(error)
    # Compiled code and what is only written later need a folder, which a container may not have.
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return f"{message}; set TMPDIR to a folder that can be written to"
    if isinstance(error, (NotADirectoryError, FileExistsError)) and error.filename:
        path = Path(error.filename)
        file = next((part for part in (path, *path.parents) if part.is_file()), None)
        if file is not None:
            return f"{file}: this is a file, and not a folder; choose another name"
    return f"{error.filename or 'output'}: {message}"


def _invoke(is_stopped: Callable[[], bool]) -> Any:
    try:
        return app(standalone_mode=False)
    except Exception as error:
        # Whatever an interrupt has become inside of another library, it was an interrupt; Typer makes it an Abort.
        if is_stopped() or isinstance(error, typer.Abort):
            raise KeyboardInterrupt from None
        raise


def _fail(message: str, error: BaseException) -> int:
    if VERBOSITY.debug:
        traceback.print_exception(error)
    print(f"efge: {describe_in_shell(message[:_MAX_MESSAGE_LENGTH])}", file=sys.stderr)
    return 2
