"""Colors of categories: all different, also to people who confuse red and green."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from efge.explore.palette import DARK, LIGHT

# Simulations of complete protanopia and deuteranopia in linear RGB (Machado, Oliveira and Fernandes, 2009).
PROTANOPIA = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
DEUTERANOPIA = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(color, vision):
    parts = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(vision) @ linear, 0, 1) / [0.9505, 1, 1.089]
    roots = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])])


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("vision", "distance"), [(np.eye(3), 19), (PROTANOPIA, 10), (DEUTERANOPIA, 10)], ids=["normal", "protan", "deutan"]
)
def test_twenty_colors_can_be_told_apart(colors, vision, distance):
    assert len(colors) == 20
    places = [lab(color, vision) for color in colors]
    assert min(np.linalg.norm(a - b) for a, b in combinations(places, 2)) > distance
