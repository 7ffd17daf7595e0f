"""Layout of a graph in columns, with edges from left to right and few crossings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

_SWEEPS = 8
_APART = 16.0  # pixels between two nodes of a column
_BEND = 10.0  # height reserved for an edge in a column that it crosses

Edge = tuple[str, str]


@dataclass(frozen=True)
class Layered:
    """The centre of every node, in pixels from the upper left, and the corners of every edge."""

    places: dict[str, tuple[float, float]]
    edges: dict[Edge, list[tuple[float, float]]]
    width: float
    height: float


def layered(sizes: dict[str, tuple[float, float]], edges: Sequence[Edge], gap: float) -> Layered:
    """Place the nodes of a graph, whose `sizes` are listed in topological order.

    A node is placed to the right of its inputs. A node without inputs is placed just left of its
    first use. An edge that crosses a column has a reserved place in it. The nodes of a column are
    repeatedly sorted by the mean height of their neighbours (Sugiyama's method).

    >>> found = layered({"w": (20, 10), "x": (20, 10), "L": (20, 10)}, [("w", "L"), ("x", "L")], 30)
    >>> found.places["w"][0] == found.places["x"][0] < found.places["L"][0]
    True
    """
    unique = list(dict.fromkeys(edges))
    columns = _columns(list(sizes), unique)
    chains = {edge: _chain(edge, columns) for edge in unique}
    all_sizes: dict[Any, tuple[float, float]] = dict(sizes)
    for chain in chains.values():
        all_sizes |= dict.fromkeys(chain[1:-1], (0.0, _BEND))
    stacks: list[list[Any]] = [[] for _ in range(max(columns.values()) + 1)]
    for name in sizes:
        stacks[columns[name]].append(name)
    for edge, chain in chains.items():
        for k, bend in enumerate(chain[1:-1], columns[edge[0]] + 1):
            stacks[k].append(bend)
    links = [pair for chain in chains.values() for pair in pairwise(chain)]
    heights = _heights(stacks, links, all_sizes)
    widths = [max(all_sizes[name][0] for name in stack) for stack in stacks]
    middles = np.cumsum([w + gap for w in widths]) - gap - 0.5 * np.array(widths)
    at = {
        name: (float(middles[k]), heights[name]) for k, stack in enumerate(stacks) for name in stack
    }
    top = min(heights[name] - all_sizes[name][1] / 2.0 for name in all_sizes)
    low = max(heights[name] + all_sizes[name][1] / 2.0 for name in all_sizes)
    at = {name: (x, y - top) for name, (x, y) in at.items()}
    corners = {edge: _corners(chain, at, all_sizes) for edge, chain in chains.items()}
    places = {name: at[name] for name in sizes}
    return Layered(places, corners, float(middles[-1] + widths[-1] / 2.0), low - top)


def _columns(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    inputs: dict[str, list[str]] = {name: [] for name in names}
    uses: dict[str, list[str]] = {name: [] for name in names}
    for start, end in edges:
        inputs[end].append(start)
        uses[start].append(end)
    out: dict[str, int] = {}
    for name in names:
        out[name] = 1 + max((out[start] for start in inputs[name]), default=-1)
    for name in names:
        if not inputs[name] and uses[name]:
            out[name] = min(out[end] for end in uses[name]) - 1
    return out


def _chain(edge: Edge, columns: dict[str, int]) -> list[Any]:
    """Return the ends of an edge and, between them, a bend for every column that it crosses."""
    start, end = edge
    return [start, *((edge, k) for k in range(columns[start] + 1, columns[end])), end]


def _heights(
    stacks: list[list[Any]], links: Sequence[tuple[Any, Any]], sizes: dict[Any, Any]
) -> dict[Any, float]:
    near: dict[Any, list[Any]] = {name: [] for stack in stacks for name in stack}
    for start, end in links:
        near[start].append(end)
        near[end].append(start)
    heights: dict[Any, float] = {}
    for stack in stacks:
        heights |= _stacked(stack, dict.fromkeys(stack, 0.0), sizes)
    for sweep in range(_SWEEPS):
        for stack in stacks if sweep % 2 == 0 else stacks[::-1]:
            wanted = {
                name: float(np.mean([heights[other] for other in near[name]] or [heights[name]]))
                for name in stack
            }
            stack.sort(key=lambda name: wanted[name])
            heights |= _stacked(stack, wanted, sizes)
    return heights


def _stacked(
    stack: Sequence[Any], wanted: dict[Any, float], sizes: dict[Any, Any]
) -> dict[Any, float]:
    """Return heights in the order of the stack, without overlaps and close to `wanted`."""
    tops, low = [], -np.inf
    for name in stack:
        half = sizes[name][1] / 2.0
        middle = max(wanted[name], low + half)
        tops.append(middle)
        low = middle + half + _APART
    # So far nodes were only pushed down. Shift the whole stack to the mean wanted height.
    shift = float(np.mean([wanted[name] - top for name, top in zip(stack, tops)]))
    return {name: top + shift for name, top in zip(stack, tops)}


def _corners(
    chain: Sequence[Any], at: dict[Any, tuple[float, float]], sizes: dict[Any, Any]
) -> list[tuple[float, float]]:
    """Return the points from the right side of the first node to the left side of the last."""
    (x0, y0), (x1, y1) = at[chain[0]], at[chain[-1]]
    first, last = (x0 + sizes[chain[0]][0] / 2.0, y0), (x1 - sizes[chain[-1]][0] / 2.0, y1)
    return [first, *(at[bend] for bend in chain[1:-1]), last]
