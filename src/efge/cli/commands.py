"""All commands: the module of each, a summary for the help, and an example.

The help lists them without importing their modules, which would take most of its time; a test compares the summaries
with the commands.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command of ``efge``; its function has its name, in the module of this package."""

    module: str
    summary: str
    example: str


COMMANDS = {
    "embed": Command(
        "embed",
        "Learn vectors for the nodes of a graph, and write them with the nodes' names.",
        "efge embed friends.csv -o vectors.npz --model poisson --dim 64 --seed 1 --save-model model.npz",
    ),
    "info": Command(
        "info",
        "Print what was read and guessed, statistics of the graph, what looks wrong, and the memory and time to embed"
        " it.",
        "efge info friends.csv",
    ),
    "convert-graph": Command(
        "embed",
        "Convert a graph that may be larger than memory into a file on disk, which every command reads as a graph.",
        "efge convert-graph friends.csv friends.efge --memory 1G",
    ),
    "walks": Command(
        "embed",
        "Write random walks to a text file, one walk per line.",
        "efge walks friends.csv -o walks.txt.gz --strategy node2vec --p 0.5 --q 2 --seed 1",
    ),
    "tune": Command(
        "tune",
        "Choose a model and its parameters for a graph, and print the command that trains it.",
        "efge tune friends.csv --fits 1 -o study",
    ),
    "neighbors": Command(
        "neighbors",
        "Print the nearest neighbors of nodes, or write those of all nodes to a file.",
        "efge neighbors vectors.npz ann -k 5",
    ),
    "index": Command(
        "neighbors",
        "Build an approximate index for neighbors --approximate, and write it to VECTORS.index.",
        "efge index vectors.npz --recall 0.99",
    ),
    "recommend": Command(
        "recommend",
        "Print the nodes that are most likely linked to nodes, by the likelihood of a saved model.",
        "efge recommend model.npz ann -k 5 --exclude friends.csv",
    ),
    "transform": Command(
        "transform",
        "Write vectors for the nodes of a graph that has grown since a model was fitted; old vectors keep every bit.",
        "efge transform model.npz friends.csv -o grown.npz",
    ),
    "classify": Command(
        "evaluate",
        "Score vectors by how well a linear classifier predicts the classes of nodes from them.",
        "efge classify vectors.npz labels.csv --ratios 0.2,0.5",
    ),
    "links": Command(
        "evaluate",
        "Score models by how well they predict removed edges, and compare them with classical heuristics.",
        "efge links friends.csv --model normal,hope --dim 16 --test-size 0.2",
    ),
    "communities": Command(
        "communities",
        "Find communities of a graph, write their nodes to a file, and print a summary.",
        "efge communities friends.csv -o groups.tsv --n-communities 2",
    ),
    "explore": Command(
        "evaluate",
        "Write an interactive page: a map of the vectors to search, color and select, in one file for any browser.",
        "efge explore vectors.npz --graph friends.csv --labels labels.csv -o map.html",
    ),
    "report": Command(
        "report",
        "Write a report in one page: the graph, the model that suits it, its scores beside simple methods, and a map.",
        "efge report friends.csv --labels labels.csv --model hope,prone --dim 16 -o report.html",
    ),
    "propagate": Command(
        "evaluate",
        "Smooth vectors along the edges of their graph, and write them under the same names.",
        "efge propagate vectors.npz friends.csv -o smooth.npz --theta 0.7",
    ),
    "convert": Command(
        "evaluate",
        "Convert vectors to another format, without changing a bit of them.",
        "efge convert vectors.npz vectors.csv",
    ),
    "benchmark": Command(
        "benchmark",
        "Compare models and given vectors on your own graphs, by node classification and link prediction.",
        "efge benchmark friends.csv --labels labels.csv --models normal,hope --seeds 2 -o scores",
    ),
    "reproduce": Command(
        "reproduce",
        "Reproduce the paper's tables and figures, and compare them with the published numbers.",
        "efge reproduce links --networks cora --methods EFGE-Norm,HOPE --repeats 2 -o cora-links",
    ),
    "datasets": Command(
        "reproduce",
        "List, download or describe published networks.",
        "efge datasets show cora",
    ),
}


def load_function(name: str) -> Any:
    """Import the function of a command, or the Typer application of a group of commands."""
    return getattr(import_module(f"efge.cli.{COMMANDS[name].module}"), name.replace("-", "_"))
