"""Figures of quality: the scores that `efge reproduce` and `scores.py` recorded, with the published ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from efge.experiments import tables
from efge.experiments.plan import Cell, load_settings, published_table
from efge.experiments.scoring import Score
from records import load, markdown

METRICS = {"micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}
MODELS = {"bernoulli": "EFGE-Bern", "poisson": "EFGE-Pois", "normal": "EFGE-Norm"}
NETWORKS = {"citeseer": "CiteSeer", "cora": "Cora", "dblp": "DBLP", "astroph": "AstroPh", "hepth": "HepTh"}
NETWORKS |= {"facebook": "Facebook", "grqc": "GrQc"}
PARAMETERS = {"dimension": "dimension", "window": "window", "sigma": "standard deviation"}
# From the paper's models to the plainest; HOPE's vectors are too short for a regularised classifier.
METHODS = ["EFGE-Norm", "EFGE-Pois", "EFGE-Bern", "Node2Vec", "DeepWalk", "NetMF", "LINE"]


# The paper, measured again.


@cache
def entries() -> tuple[tables.Entry, ...]:
    """The cells of the paper's tables: what was measured, and what was published."""
    results = {}
    for study, network, method, value, metric, column, mean in load("reproduction")["scores"].rows:
        key = Cell(study, network, f"{method}/{metric}/{column}/{value}", None, 0)
        results[key] = [Score(method, value, metric, column, 0, mean)]
    return tuple(tables.make_entries(results))


def chosen(study: str, network: str | None = None, metric: str | None = None) -> list[tables.Entry]:
    # The first six fields are study, network, method, value, metric and column.
    return [
        entry for entry in entries() if entry[0] == study and network in (None, entry[1]) and metric in (None, entry[4])
    ]


def score(study: str, network: str, method: str, metric: str, column: str) -> float:
    return next(
        entry.ours.mean for entry in chosen(study, network, metric) if entry[2] == method and entry[5] == column
    )


def titled(table: tables.Table) -> str:
    return f"### {table.title}\n\n{markdown(table.header, table.rows)}"


def summary() -> str:
    lines = []
    for who, is_efge in (("three EFGE models", True), ("five baselines", False)):
        for study, task in (("classification", "classification"), ("links", "link prediction")):
            judged = [entry for entry in chosen(study) if tables.is_efge(entry) == is_efge]
            reached, count = tables.count_reached(judged)
            lines.append(
                f"- {task.capitalize()}, the {who}: {reached} of {count} cells ({reached / count:.1%}) are within "
                f"{tables.TOLERANCE} of the published number, or better."
            )
    return "\n".join(lines)


def repeats() -> str:
    counts = load("reproduction")["repeats"].rows
    return "Link prediction repeats: " + ", ".join(f"{NETWORKS[network]} {count}" for network, count in counts) + "."


def networks() -> str:
    table = tables.statistics_table(chosen("networks"))
    return markdown(table.header, table.rows)


def classification() -> str:
    found = []
    for network in load_settings()["studies"]["classification"]["networks"]:
        for metric, name in METRICS.items():
            title = f"{name} on {NETWORKS[network]}, by percentage of labelled nodes"
            found.append(titled(tables.comparison_table(title, chosen("classification", network, metric))))
    return "\n\n".join(found)


def links() -> str:
    removed = tables.comparison_table(
        "Fraction of the edges that could be removed", chosen("links", metric="test_size")
    )
    return "\n\n".join(map(titled, [tables.comparison_table("AUC", chosen("links", metric="auc")), removed]))


def sensitivity(study: str) -> str:
    table = tables.sensitivity_table("", chosen(study))
    return markdown(["method", "labelled", *table.header[2:]], table.rows)


def few_labels() -> str:
    """EFGE-Norm on CiteSeer: ours, by the reference trainer, and published."""
    reference = load("reproduction")["reference trainer"]
    columns = [name.removesuffix(" %") for name in reference.columns[1:]]
    rows = []
    for metric, name in METRICS.items():
        numbers = published_table("classification_citeseer.csv")
        ours = [score("classification", "citeseer", "EFGE-Norm", metric, column) for column in columns]
        known = [numbers["EFGE-Norm", metric, column] for column in columns]
        by_reference = [number for key, number in reference.row(metric=name).items() if key != "metric"]
        for who, scores in (("ours", ours), ("reference trainer", by_reference), ("published", known)):
            rows.append([f"{name}, {who}", *(f"{number:.3f}" for number in scores)])
    return markdown(["EFGE-Norm on CiteSeer", *reference.columns[1:]], rows)


def missed_link() -> str:
    row = load("reproduction")["EFGE-Pois on CiteSeer"].records()[0]
    return (
        f"**EFGE-Pois on CiteSeer's links** is the only missed cell of link prediction: {row['AUC']} with a standard "
        f"deviation of {row['standard deviation']} over {row['splits']} splits, {row['published']} published. The "
        "other two "
        "models reach their published scores there."
    )


def netmf_on_cora() -> str:
    ten, twenty = (row[1] for row in load("reproduction")["NetMF on Cora"].rows)
    return f"On Cora the published Micro-F1 lies between a window of 10 ({ten}) and of 20 ({twenty})."


# Choosing.


def classes() -> str:
    names = [(name, percentage) for name in ("citeseer", "cora", "dblp") for percentage in ("2", "10", "90")]
    columns = [[score("classification", name, method, "micro_f1", at) for method in METHODS] for name, at in names]
    return markdown(["method", *(f"{NETWORKS[name]}, {at} %" for name, at in names)], _with_best(METHODS, columns))


def link_scores() -> str:
    methods = [*METHODS, "HOPE", "katz"]
    columns = [[score("links", name, method, "auc", name) for method in methods] for name in NETWORKS]
    labels = [*methods[:-1], "Katz index, not learned"]
    return markdown(["method", *NETWORKS.values()], _with_best(labels, columns))


def _with_best(labels: list[str], columns: list[list[float]]) -> list[list[str]]:
    """A row for each label; the best score of each column is bold."""
    cells = [
        [f"**{number:.3f}**" if number == max(column) else f"{number:.3f}" for number in column] for column in columns
    ]
    return [[label, *row] for label, *row in zip(labels, *cells, strict=True)]


def unit_length() -> str:
    found = load("scores")["unit length"].rows
    ranges = " and ".join(f"{low:.3f} to {high:.3f} on {NETWORKS[network]}" for network, low, high in found)
    return f"Scaled to length 1, HOPE's vectors give a Micro-F1 of {ranges}."


# Trainers and partitions.


def trainers() -> str:
    """Fast and reference trainer, and the published number."""
    table = load("scores")["trainers"]
    found = {tuple(row[:4]): row[-1] for row in table.rows}
    rows = []
    for network, metric, model in dict.fromkeys(key[:3] for key in found):
        ours = [found[network, metric, model, trainer] for trainer in ("fast", "reference")]
        cells = [*(f"{number:.3f}" for number in ours), f"{_published(network, metric, model):.3f}"]
        rows.append([NETWORKS[network], metric, model.capitalize(), *cells])
    return markdown(["network", "score", "family", "fast", "reference", "published"], rows)


def trainer_difference() -> str:
    found = {tuple(row[:4]): row[-1] for row in load("scores")["trainers"].rows}
    most = max(abs(number - found[(*key[:3], "reference")]) for key, number in found.items())
    return f"The scores of the two trainers differ by {most:.3f} at most."


def _published(network: str, metric: str, model: str) -> float:
    if metric == "AUC":
        return published_table("links.csv")[MODELS[model], network]
    percentage = metric.removeprefix("Micro-F1 at ").removesuffix(" %")
    return published_table(f"classification_{network}.csv")[MODELS[model], "micro_f1", percentage]


def partition_scores() -> str:
    found = {(*row[:3], row[4]): row[-1] for row in load("scores")["partitions"].rows}
    rows = []
    for network, metric in dict.fromkeys(key[:2] for key in found):
        cells = [
            " ".join(f"{found[network, metric, model, count]:.3f}" for model in ("bernoulli", "normal", "poisson"))
            for count in (0, 4, 16)
        ]
        rows.append([f"{NETWORKS[network]}, {metric}", *cells])
    return markdown(["network and score", "whole tables", "4 partitions", "16 partitions"], rows)


def few_walks() -> str:
    rows = load("scores")["few walks"].rows
    (cora, parted), (astroph, astroph_parted) = ([row[-1] for row in rows[i : i + 2]] for i in (0, 2))
    return (
        "With only 10 walks from each node, the Normal family is far from converged and partitions fall behind: in 16 "
        f"partitions its Micro-F1 on Cora at 10 % is {parted:.3f} instead of {cora:.3f}, and its AUC on AstroPh "
        f"{astroph_parted:.3f} instead of {astroph:.3f}. Bernoulli, which has nearly converged by then, does not "
        "fall behind."
    )


def _table(record: str, title: str) -> str:
    return load(record)[title].to_markdown()


BLOCKS: dict[str, Callable[[], str]] = {
    "reproduction summary": summary,
    "reproduction claims": partial(_table, "reproduction", "claims"),
    "reproduction repeats": repeats,
    "reproduction networks": networks,
    "reproduction classification": classification,
    "reproduction links": links,
    "reproduction dimension": partial(sensitivity, "dimension"),
    "reproduction window": partial(sensitivity, "window"),
    "reproduction sigma": partial(sensitivity, "sigma"),
    "few labels": few_labels,
    "missed link": missed_link,
    "NetMF settings": partial(_table, "reproduction", "NetMF settings"),
    "NetMF on Cora": netmf_on_cora,
    "LINE edges": partial(_table, "reproduction", "LINE edges"),
    "classes": classes,
    "link scores": link_scores,
    "unit length": unit_length,
    "trainers": trainers,
    "trainer difference": trainer_difference,
    "partition scores": partition_scores,
    "few walks": few_walks,
}
