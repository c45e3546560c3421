"""Figures of scores and embeddings with matplotlib, on the caller's axes or on new ones."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from efge.io.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Distinguishable for color-blind readers and in print.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f")


class Curve(NamedTuple):
    """A curve of means, optionally with a band between lower and upper values."""

    xs: Sequence[float]
    means: Sequence[float]
    lows: Sequence[float] | None = None
    highs: Sequence[float] | None = None


def new_axes(width: float = 6.0, height: float = 4.0) -> Axes:
    """Return the axes of a new figure without a window; ``axes.figure.savefig(path)`` writes it.

    Examples
    --------
    >>> new_axes().figure.get_size_inches().tolist()
    [6.0, 4.0]
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plotting needs matplotlib; install efge[plot]") from None
    axes: Axes = Figure(figsize=(width, height), layout="constrained").add_subplot()
    return axes


def new_axes_row(count: int, width: float = 3.5, height: float = 3.2) -> list[Axes]:
    """Return several axes beside each other in a new figure.

    Examples
    --------
    >>> new_axes_row(2)[0].figure.get_size_inches().tolist()
    [7.0, 3.2]
    """
    first = new_axes(width * count, height)
    figure: Any = first.figure
    figure.clear()
    return [figure.add_subplot(1, count, number + 1) for number in range(count)]


def check_axes(axes: Any) -> Any:
    """Return axes to draw on; raise a TypeError if they are something else.

    Examples
    --------
    >>> check_axes("left")
    Traceback (most recent call last):
    TypeError: axes is matplotlib's Axes, as plt.subplots() returns them; got 'left'
    """
    if not hasattr(axes, "scatter") or not hasattr(axes, "set_xlabel"):
        raise TypeError(f"axes is matplotlib's Axes, as plt.subplots() returns them; got {axes!r}"[:300])
    return axes


def check_figure(path: str | os.PathLike[str] | None) -> None:
    """Raise ``ValueError`` unless a figure can be written to this path; None means no figure.

    Examples
    --------
    >>> check_figure("scores.png")
    """
    if path is not None and Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{path}: a figure must be a .png, .svg or .pdf file")


def save_figure(axes: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure of the axes to a .png, .svg or .pdf file, atomically.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "figure.svg")
    >>> save_figure(new_axes(), path)
    >>> path.read_text()[:5]
    '<?xml'
    """
    check_figure(path)
    data = io.BytesIO()
    figure: Any = axes.figure
    figure.savefig(data, format=Path(path).suffix[1:].lower(), dpi=150)
    with atomic_write(path) as stream:
        stream.write(data.getvalue())


def plot_curves(curves: Mapping[str, Curve], x_label: str, y_label: str, axes: Axes | None = None) -> Axes:
    """Draw a line for each name, with its band if it has one.

    Examples
    --------
    >>> axes = plot_curves({"normal": Curve([1, 2], [0.5, 0.6])}, "window", "score")
    >>> axes.get_xlabel()
    'window'
    """
    axes = new_axes() if axes is None else check_axes(axes)
    for number, (name, curve) in enumerate(curves.items()):
        color = COLORS[number % len(COLORS)]
        axes.plot(curve.xs, curve.means, color=color, label=name, marker="os^Dv<>p"[number % 8], markersize=4)
        if curve.lows is not None and curve.highs is not None:
            axes.fill_between(curve.xs, curve.lows, curve.highs, color=color, alpha=0.15, linewidth=0)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(alpha=0.25)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize="small")
    return axes


def plot_bars(
    means: Mapping[str, float], deviations: Mapping[str, float], label: str, axes: Axes | None = None
) -> Axes:
    """Draw a bar for each name with its standard deviation, the largest on top.

    Examples
    --------
    >>> axes = plot_bars({"katz": 0.8, "normal": 0.9}, {"katz": 0.01, "normal": 0.02}, "AUC")
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['katz', 'normal']
    """
    names = sorted(means, key=lambda name: means[name])
    axes = new_axes(6, 1 + 0.3 * len(names)) if axes is None else check_axes(axes)
    widths = [means[name] for name in names]
    errors = np.nan_to_num([deviations[name] for name in names])
    axes.barh(range(len(names)), widths, xerr=errors, color=COLORS[0], alpha=0.85, height=0.7)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel=label)
    axes.grid(axis="x", alpha=0.25)
    return axes


def plot_map(
    points: npt.NDArray[Any], groups: Sequence[Hashable] | None = None, title: str = "", axes: Axes | None = None
) -> Axes:
    """Draw points in the plane, colored by group; if there are more than eight groups, the smallest share a color.

    Examples
    --------
    >>> axes = plot_map(np.zeros((3, 2)), ["a", "a", "b"], "three nodes")
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['a', 'b']
    """
    axes = new_axes(5, 5) if axes is None else check_axes(axes)
    size = float(np.clip(4000 / max(len(points), 1), 1, 40))
    groups = [""] * len(points) if groups is None else list(groups)
    names = [name for name, _ in Counter(groups).most_common()]
    if len(names) > len(COLORS):
        names = names[: len(COLORS) - 1]
        groups = [group if group in names else "other" for group in groups]
        names.append("other")
    for name, color in zip(names, COLORS, strict=False):
        members = np.array([group == name for group in groups], bool)
        axes.scatter(points[members, 0], points[members, 1], s=size, color=color, label=str(name), linewidths=0)
    axes.set(xticks=[], yticks=[], title=title)
    if len(names) > 1:
        axes.legend(frameon=False, fontsize="small")
    return axes
