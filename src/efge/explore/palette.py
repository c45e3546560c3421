"""Colors of categories: twenty that differ in normal vision and to people who confuse red and green.

The first seven are those of the plots, and lighter ones on a dark background. Each further one was taken, from a grid
of colors that contrast with their background, where its smallest distance in CIELAB to those before is largest: in
normal vision, and in simulations of protanopia and deuteranopia.
"""

from __future__ import annotations

LIGHT = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#000f96", "#4b1e5a", "#c3c378",
    "#003c00", "#0078ff", "#0f3c3c", "#695a78", "#003c96", "#874b00", "#ff4b78", "#87783c", "#96c3a5", "#b487ff",
)  # fmt: skip
DARK = (
    "#3a94c8", "#e07a3a", "#3fbf95", "#d994b9", "#ecb43f", "#7cc6ef", "#b08376", "#5a4be1", "#d2ff96", "#f0f01e",
    "#c32d3c", "#f0f0d2", "#6987f0", "#78ffff", "#875a96", "#00d269", "#c32d00", "#4b784b", "#ff3cc3", "#964bc3",
)  # fmt: skip
