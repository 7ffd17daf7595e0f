"""A computation graph with a value and a derivative at every node."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from separatrix.explain.text_tables import facts, number, table, wrapped

MOST_LINES = 24  # largest number of lines of a node in text


@dataclass(frozen=True)
class Node:
    """One step of a computation. Its values are numbers or nested tuples of numbers.

    Attributes
    ----------
    name : the name of the node
    formula : the node as a function of its inputs, or "" if its value is given
    inputs : the names of the nodes that it is computed from
    value : the value of the node
    derivative : the derivative of the output with respect to the node, or None if it was not
        computed
    numeric : the same derivative by finite differences, for given values
    partials : the derivatives of the node with respect to its inputs if these are numbers, else ()
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
    """Nodes in the order of computation. The last node is the output.

    `checked` derivatives were compared with finite differences. `agrees` is True if all of them are
    correct, and `difference` is the largest difference.
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
        """Pairs of names: an input, and the node that is computed from it."""
        return tuple((name, node.name) for node in self.nodes for name in node.inputs)

    def to_text(self, width: int = 80) -> str:
        """Return the table of all nodes as text, followed by the check of the derivatives."""
        by = f"d{self.output.name}/d(node)"
        rows = [row for node in self.nodes for row in _lines(node)]
        lines = table(("node", "formula", "value", by), rows, width)
        return "\n".join([*lines, "", *wrapped(self.verdict, width)])

    @property
    def verdict(self) -> str:
        """A sentence that states whether finite differences agree with the derivatives."""
        total = sum(
            len(entries(node.name, node.numeric)) for node in self if node.numeric is not None
        )
        count = f"{self.checked} derivative{'' if self.checked == 1 else 's'}"
        if self.checked < total:
            count = f"{self.checked} of {total} derivatives, the largest ones"
        if not self.checked:
            return "No derivative was compared with finite differences."
        largest = ""
        if not math.isnan(self.difference):
            largest = f" (largest difference {number(self.difference)})"
        if self.agrees:
            return f"Finite differences agree with {count}{largest}."
        return f"Finite differences do not agree with all of {count}{largest}."

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        return facts(self) | {"edges": self.edges}


def entries(name: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return a row with a name for every entry of nested tuples of one shape.

    A value of None stays None in every row.

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
    """Return the lines of a node, with the formula in the first one. Long nodes are cut."""
    rows = entries(node.name, node.value, node.derivative)
    shown = [(name, "", value, slope) for name, value, slope in rows[:MOST_LINES]]
    shown[0] = (shown[0][0], node.formula or "given", *shown[0][2:])
    if len(rows) > MOST_LINES:
        shown.append((f"{node.name}: {len(rows) - MOST_LINES} more", "", None, None))
    return shown
