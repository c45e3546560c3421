"""The commands together, and how they end: a result, one line on standard error, or a traceback for those who ask."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
import warnings
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

import efge
from efge.cli import embed as making
from efge.cli import evaluate as using
from efge.cli import reproduce as published
from efge.cli.console import VOICE, Voice, say

# What the options of all commands are called; they count wherever they stand.
# Of a hostile file, a name in a message may be as long as the file.
_LONGEST_MESSAGE = 5000
_VOICES = {"--quiet": "quiet", "--verbose": "verbose", "--debug": "debug"}
# Typer's errors in the use of options, whichever module they live in.
_UsageError: Any = typer.BadParameter.__mro__[1]

_EXAMPLES: dict[Any, str] = {
    making.embed: "efge embed friends.csv -o vectors.npz --model poisson --dim 64 --seed 1",
    making.info: "efge info friends.csv",
    making.convert_graph: "efge convert-graph friends.csv friends.efge --memory 1G",
    making.walks: "efge walks friends.csv -o walks.txt.gz --strategy node2vec --p 0.5 --q 2 --seed 1",
    using.neighbors: "efge neighbors vectors.npz ann -k 5",
    using.classify: "efge classify vectors.npz labels.csv --ratios 0.2,0.5",
    using.links: "efge links friends.csv --model normal,hope --dim 16 --share 0.2",
    using.communities: "efge communities friends.csv -o groups.tsv --number 2",
    using.explore: "efge explore vectors.npz --graph friends.csv --labels labels.csv -o map.html",
    using.convert: "efge convert vectors.npz vectors.csv",
    published.reproduce: "efge reproduce links --networks cora --methods EFGE-Norm,HOPE --repeats 2 -o cora-links",
}


class _Group(TyperGroup):
    """A group whose own options may also stand behind the command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        own = [arg for arg in args[:end] if arg in _VOICES]
        rest = [arg for arg in args[:end] if arg not in _VOICES]
        return list(super().parse_args(ctx, own + rest + args[end:]))


app = typer.Typer(
    name="efge",
    cls=_Group,
    help="Node embeddings by exponential family graph embedding: vectors for the nodes of any graph.",
    epilog="Example: efge embed friends.csv -o vectors.npz && efge neighbors vectors.npz ann",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command, _example in _EXAMPLES.items():
    app.command(epilog=f"Example: {_example}")(_command)
app.add_typer(published.datasets, name="datasets", epilog="Example: efge datasets show cora")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"efge {efge.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say more.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
) -> None:
    VOICE.quiet, VOICE.verbose, VOICE.debug, VOICE.if_stopped = quiet, verbose, debug, Voice.if_stopped


def main() -> None:
    """Run the command line."""
    # Asked to end, clean up first, as after Ctrl-C: a file that is half written goes away.
    before, often = signal.signal(signal.SIGTERM, signal.default_int_handler), gc.get_threshold()
    # Libraries are many objects and hardly any garbage; looking for it was a tenth of the time to start.
    gc.set_threshold(100_000, *often[1:])
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *place: say(" ".join(str(message).split()))
            _run()
    finally:
        gc.set_threshold(*often)
        signal.signal(signal.SIGTERM, before)


def _run() -> NoReturn:
    try:
        code = app(standalone_mode=False)
    except _UsageError as error:
        command = getattr(error.ctx, "command_path", None) or "efge"
        _fail(f"{error.format_message()} (see {command} --help)", error)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:
        # Who read our output has seen enough; what is still to be written would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, ImportError, efge.TrainingError, efge.ClusterError) as error:
        _fail(str(error), error)
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}", error)
    except MemoryError as error:
        _fail(f"not enough memory{f': {error}' if str(error) else ''}; take fewer --dim, or a smaller graph", error)
    if code == 130:
        print(f"efge: stopped; {VOICE.if_stopped}", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, error: BaseException) -> NoReturn:
    if VOICE.debug:
        traceback.print_exception(error)
    print(f"efge: {' '.join(message[:_LONGEST_MESSAGE].split())}", file=sys.stderr)
    sys.exit(2)
