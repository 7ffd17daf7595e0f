"""A computation graph with numbers at every node, forwards and backwards."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from separatrix.explain.text_tables import facts, number, table, wrapped

MOST_LINES = 24  # of one node, in text


@dataclass(frozen=True)
class Node:
    """One step of a computation; numbers, or nested tuples of them.

    - `formula`: how it is made of its `inputs`, the names of other nodes; "" for what is given
    - `value`: what it is
    - `derivative`: of the output by it; None where the output does not hang on it
    - `numeric`: the same derivative by finite differences, for what is given and differentiated by
    - `partials`: of it by each of its inputs, where these are numbers, else ()
    """

    name: str
    formula: str
    inputs: tuple[str, ...]
    value: Any
    derivative: Any = None
    numeric: Any = None
    partials: tuple[float, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Nodes in the order of computation, the last being the output.

    `agrees` says whether every derivative that was checked by finite differences is right, and
    `difference` is the largest difference among them; `checked` counts them.
    """

    nodes: tuple[Node, ...]
    agrees: bool
    difference: float
    checked: int

    def __getitem__(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes)
        raise KeyError(f"The graph has no node {name!r}. It has: {known}.")

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    @property
    def output(self) -> Node:
        """The last node."""
        return self.nodes[-1]

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of names, each from an input to what is made of it."""
        return tuple((name, node.name) for node in self.nodes for name in node.inputs)

    def to_text(self, width: int = 80) -> str:
        """A line for every number, forwards; and whether the derivatives are right."""
        by = f"d{self.output.name}/d·"
        rows = [row for node in self.nodes for row in _lines(node)]
        lines = table(("node", "is", "value", by), rows, width)
        return "\n".join([*lines, "", *wrapped(self.verdict, width)])

    @property
    def verdict(self) -> str:
        """Whether the derivatives are those that finite differences give, in a sentence."""
        total = sum(
            len(entries(node.name, node.numeric)) for node in self if node.numeric is not None
        )
        count = f"{self.checked} derivative{'' if self.checked == 1 else 's'}"
        if self.checked < total:
            count = f"{self.checked} of {total} derivatives, the largest ones"
        if not self.checked:
            return "No derivative was checked by finite differences."
        largest = "" if math.isnan(self.difference) else f" (at most {number(self.difference)} off)"
        if self.agrees:
            return f"Finite differences agree with {count}{largest}."
        return f"Finite differences do not agree with all of {count}{largest}."

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return facts(self) | {"edges": self.edges}


def entries(name: str, *values: Any) -> list[tuple[Any, ...]]:
    """A row for every entry of nested tuples of one shape, with its own name; None is no entry.

    >>> entries("z", (0.5, 0.25), None)
    [('z_1', 0.5, None), ('z_2', 0.25, None)]
    """
    if not isinstance(values[0], tuple):
        return [(name, *values)]
    apart = "," if "_" in name else "_"
    return [
        row
        for k in range(len(values[0]))
        for row in entries(f"{name}{apart}{k + 1}", *(v if v is None else v[k] for v in values))
    ]


def _lines(node: Node) -> list[tuple[Any, ...]]:
    """The lines of a node, the formula on the first; of many entries, the first ones."""
    rows = entries(node.name, node.value, node.derivative)
    shown = [(name, "", value, slope) for name, value, slope in rows[:MOST_LINES]]
    shown[0] = (shown[0][0], node.formula or "given", *shown[0][2:])
    if len(rows) > MOST_LINES:
        shown.append((f"{node.name}: {len(rows) - MOST_LINES} more", "", None, None))
    return shown
