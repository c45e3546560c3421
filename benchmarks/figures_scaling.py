"""Figures of `scaling.py`: the predicted speed-up on many cores, and what it was computed from."""

from __future__ import annotations

from records import load, markdown


def speed_up() -> str:
    """The fraction of a full speed-up, a row for each size of graph."""
    rows = load("scaling")["speed-up"].records()
    sizes, workers = (sorted({row[name] for row in rows}) for name in ("nodes", "workers"))
    fractions = {(row["nodes"], row["workers"]): row["fraction"] for row in rows}
    table = [[f"{size:,}", *(f"{count * fractions[size, count]:.1f}" for count in workers)] for size in sizes]
    return markdown(["nodes", *(f"{count} workers" if count > 1 else "1 worker" for count in workers)], table)


def shares() -> str:
    """What each part of a fit takes with one thread, in percent."""
    rows = load("scaling")["shares of one thread"].records()
    sizes = sorted({row["nodes"] for row in rows})
    parts = list(dict.fromkeys(row["part"] for row in rows))
    found = {(row["nodes"], row["part"]): row["share"] for row in rows}
    table = [[part, *(f"{100 * found[size, part]:.2f} %" for size in sizes)] for part in parts]
    return markdown(["part", *(f"{size:,} nodes" for size in sizes)], table)


def checked() -> str:
    """The measured and the predicted speed-up of two threads, and the costs that the prediction rests on."""
    tables = load("scaling")
    costs = {row["nodes"]: row for row in tables["costs"].records()}
    lines = []
    for row in tables["measured"].records():
        ratio, cost = row["one thread"] / row["two threads"], costs[row["nodes"]]
        lines.append(
            f"- {row['nodes']:,} nodes: two threads were {ratio:.2f} times as fast as one, where the prediction is"
            f" {2 * row['predicted fraction of two']:.2f}. Handing over a cache line took {cost['ns to hand over']} ns,"
            f" and to begin a call of the kernel {cost['us to begin a call']} microseconds for each thread."
        )
    return "\n".join(lines)


BLOCKS = {"scaling": speed_up, "scaling shares": shares, "scaling checked": checked}
