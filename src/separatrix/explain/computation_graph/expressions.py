"""Parse small expressions and compute their derivatives. An expression is never run as code.

sum      := product (("+" | "-") product)*
product  := power (("*" | "/") power)*
power    := atom (("^" | "**") power)?
atom     := number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

A sum, a product or a power can begin with a sign.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import NoReturn

from separatrix.explain.computation_graph.finite_differences import Slope, slope
from separatrix.explain.computation_graph.nodes import Graph, Node
from separatrix.explain.text_tables import number

MOST = sys.float_info.max  # integers can be larger

LONGEST = 500  # characters
DEEPEST = 40  # levels of nested parentheses, signs and powers
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>\*\*|[-+*/^(),]))",
    re.ASCII,
)


@dataclass(frozen=True)
class _Operation:
    """A function, its partial derivatives, and its notation.

    The arguments of a partial derivative are the value and the arguments of the function. Every
    partial derivative is a separate function, because one that is not needed may not exist.
    """

    value: Callable[..., float]
    partials: tuple[Callable[..., float], ...]
    written: str


def _sigmoid(a: float) -> float:
    return 1.0 / (1.0 + math.exp(-a)) if a >= 0.0 else math.exp(a) / (1.0 + math.exp(a))


OPERATORS = {
    "+": _Operation(lambda a, b: a + b, (lambda v, a, b: 1.0, lambda v, a, b: 1.0), "{} + {}"),
    "-": _Operation(lambda a, b: a - b, (lambda v, a, b: 1.0, lambda v, a, b: -1.0), "{} - {}"),
    "*": _Operation(lambda a, b: a * b, (lambda v, a, b: b, lambda v, a, b: a), "{} * {}"),
    "/": _Operation(
        lambda a, b: a / b, (lambda v, a, b: 1.0 / b, lambda v, a, b: -v / b), "{} / {}"
    ),
    "^": _Operation(
        lambda a, b: math.pow(a, b),
        (lambda v, a, b: b * math.pow(a, b - 1.0), lambda v, a, b: v * math.log(a)),
        "{}^{}",
    ),
}
NEGATIVE = _Operation(lambda a: -a, (lambda v, a: -1.0,), "-{}")
FUNCTIONS = {
    "exp": _Operation(math.exp, (lambda v, a: v,), "exp({})"),
    "log": _Operation(math.log, (lambda v, a: 1.0 / a,), "log({})"),
    "sqrt": _Operation(math.sqrt, (lambda v, a: 0.5 / v,), "sqrt({})"),
    "sigmoid": _Operation(_sigmoid, (lambda v, a: v * (1.0 - v),), "sigmoid({})"),
    "max": _Operation(
        max, (lambda v, a, b: float(a >= b), lambda v, a, b: float(a < b)), "max({}, {})"
    ),
}
_STRENGTH = {"+": 10, "-": 10, "*": 20, "/": 20, "^": 40, "**": 40}
_SIGN = 15  # a sign binds less strongly than a product: -w*x is -(w*x)

# An operand is a number (float) or the position of a step (int).
_Operand = float | int


@dataclass(frozen=True)
class _Step:
    operation: _Operation | None  # None for a variable or a single number
    operands: tuple[_Operand, ...]
    name: str = ""


def graph(expression: str, /, **variables: float) -> Graph:
    """Return the computation graph of an expression, with values and derivatives at every node.

    The expression may contain numbers, names, + - * / ^ (or **), parentheses, exp, log, sqrt,
    sigmoid, and max of two arguments. The derivatives with respect to the variables are compared
    with finite differences.

    >>> found = graph("w^2 + 5*log(w) + 6", w=2.0)
    >>> found["w"].derivative  # 2 w + 5 / w
    6.5
    >>> print(graph("1/(1+exp(-w*x))", w=0.5, x=2.0).to_text())
    node  formula    value  dL/d(node)
    w     given        0.5     0.39322
    x     given          2    0.098306
    z1    w * x          1     0.19661
    z2    -z1           -1    -0.19661
    z3    exp(z2)  0.36788    -0.53445
    z4    1 + z3    1.3679    -0.53445
    L     1 / z4   0.73106           1
    <BLANKLINE>
    Finite differences agree with 2 derivatives (largest difference ...).
    """
    steps = _Parser(expression).parse()
    used = [step.name for step in steps if step.name]
    _require_variables(used, variables)
    given = {name: float(value) for name, value in variables.items()}
    names = _names(steps, given)
    values = _forwards(steps, given, names)
    derivatives = _backwards(steps, values, names)
    slopes = {
        place: slope(_along(steps, given, step.name), given[step.name])
        for place, step in enumerate(steps)
        if step.name
    }
    nodes = tuple(
        Node(
            names[place],
            "" if step.name else _formula(step, names),
            tuple(names[k] for k in step.operands if isinstance(k, int)),
            values[place],
            derivatives[place],
            slopes[place].value if place in slopes else None,
            tuple(partial for _, partial in _partials(step, values[place], values)),
        )
        for place, step in enumerate(steps)
    )
    return Graph(nodes, *judged([(derivatives[k], found) for k, found in slopes.items()]))


def judged(pairs: Sequence[tuple[float, Slope]]) -> tuple[bool, float, int]:
    """Return whether derivatives agree with slopes, the largest difference, and the count."""
    off = [abs(analytic - found.value) for analytic, found in pairs if found.kink is None]
    agrees = all(found.agrees(analytic) for analytic, found in pairs)
    return agrees, max(off, default=math.nan), len(pairs)


class _Parser:
    """An operator-precedence parser. It can call the functions in FUNCTIONS only."""

    def __init__(self, expression: str) -> None:
        if not isinstance(expression, str):
            raise ValueError(f"The expression must be text. Got {type(expression).__name__}.")
        if len(expression) > LONGEST:
            raise ValueError(
                f"The expression must have at most {LONGEST} characters. Got {len(expression)}."
            )
        self.text = expression
        self.tokens = self._split()
        self.place = 0
        self.steps: list[_Step] = []
        self.variables: dict[str, int] = {}

    def parse(self) -> list[_Step]:
        last = self._expression(0, 0)
        if self.place < len(self.tokens):
            self._refuse("an operator such as + or *")
        # The output is always the last step, even if it is a variable or a number.
        if isinstance(last, float) or last != len(self.steps) - 1:
            self.steps.append(_Step(None, (last,)))
        return self.steps

    def _split(self) -> list[tuple[str, int]]:
        tokens, at, end = [], 0, len(self.text.rstrip())
        while at < end:
            found = _TOKEN.match(self.text, at)
            if found is None:
                place = at + len(self.text[at:]) - len(self.text[at:].lstrip())
                raise ValueError(
                    f"The expression has {self.text[place]!r} at character {place + 1}. It may "
                    f"contain numbers, names, + - * / ^ ( ) and {', '.join(FUNCTIONS)}."
                )
            token = found[found.lastgroup or 0]
            tokens.append((token, found.end() - len(token)))
            at = found.end()
        return tokens

    def _peek(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def _refuse(self, wanted: str) -> NoReturn:
        if self.place >= len(self.tokens):
            raise ValueError(f"The expression is incomplete: {wanted} is missing at the end.")
        token, at = self.tokens[self.place]
        raise ValueError(
            f"The expression has {token!r} at character {at + 1}. Expected {wanted} there."
        )

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            self._refuse(repr(token))
        self.place += 1

    def _expression(self, strength: int, depth: int) -> _Operand:
        """Parse up to the next operator that binds less strongly than `strength`."""
        if depth > DEEPEST:
            raise ValueError(f"The expression is nested more than {DEEPEST} levels deep.")
        left = self._prefix(strength, depth)
        while (own := _STRENGTH.get(self._peek(), 0)) > 0 and own >= strength:
            sign = self._peek().replace("**", "^")
            self.place += 1
            right = self._expression(own if sign == "^" else own + 1, depth + 1)
            left = self._add(OPERATORS[sign], left, right)
        return left

    def _prefix(self, strength: int, depth: int) -> _Operand:
        token = self._peek()
        if token in ("-", "+"):
            self.place += 1
            inner = self._expression(max(strength, _SIGN), depth + 1)
            if token == "+":
                return inner
            return -inner if isinstance(inner, float) else self._add(NEGATIVE, inner)
        if token == "(":
            self.place += 1
            inner = self._expression(0, depth + 1)
            self._expect(")")
            return inner
        if token in FUNCTIONS:
            return self._call(token, depth)
        if not token or not (token[0].isalnum() or token[0] in "_."):
            self._refuse("a number, a name or a parenthesis")
        self.place += 1
        if token[0].isdigit() or token[0] == ".":
            return _finite(token)
        if self._peek() == "(":
            raise ValueError(
                f"There is no function {token!r}. The functions are {', '.join(FUNCTIONS)}."
            )
        return self._variable(token)

    def _call(self, name: str, depth: int) -> _Operand:
        self.place += 1
        self._expect("(")
        operands = [self._expression(0, depth + 1)]
        for _ in FUNCTIONS[name].partials[1:]:
            self._expect(",")
            operands.append(self._expression(0, depth + 1))
        self._expect(")")
        return self._add(FUNCTIONS[name], *operands)

    def _variable(self, name: str) -> int:
        if name not in self.variables:
            self.variables[name] = len(self.steps)
            self.steps.append(_Step(None, (), name))
        return self.variables[name]

    def _add(self, operation: _Operation, *operands: _Operand) -> int:
        self.steps.append(_Step(operation, operands))
        return len(self.steps) - 1


def _finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise ValueError(f"The number {token} is too large for a float.")
    return value


def _require_variables(used: Sequence[str], given: Mapping[str, object]) -> None:
    missing = [name for name in used if name not in given]
    if missing:
        raise ValueError(f"Give a value for {', '.join(missing)}, such as {missing[0]}=1.0.")
    extra = [name for name in given if name not in used]
    if extra:
        raise ValueError(f"The expression has no variable {', '.join(extra)}.")
    for name, value in given.items():
        if not isinstance(value, Real) or not -MOST <= value <= MOST:  # type: ignore[operator]
            raise ValueError(f"The value of {name} must be a finite number. Got {value!r} instead.")


def _names(steps: Sequence[_Step], taken: Mapping[str, float]) -> list[str]:
    """Name the steps z1, z2, ... and the last one L, skipping the names of variables."""
    free = (name for k in range(1, 10**6) if (name := f"z{k}") not in taken)
    names = [step.name or next(free) for step in steps[:-1]]
    last = steps[-1].name or ("L" if "L" not in taken else next(free))
    return [*names, last]


def _operands(step: _Step, values: Sequence[float]) -> list[float]:
    return [values[k] if isinstance(k, int) else k for k in step.operands]


def _formula(step: _Step, names: Sequence[str]) -> str:
    words = [names[k] if isinstance(k, int) else number(k) for k in step.operands]
    return words[0] if step.operation is None else step.operation.written.format(*words)


def _forwards(
    steps: Sequence[_Step], given: Mapping[str, float], names: Sequence[str]
) -> list[float]:
    values: list[float] = []
    for step in steps:
        if step.name:
            values.append(given[step.name])
            continue
        at = _operands(step, values)
        values.append(_computed(step.operation.value, at) if step.operation else at[0])
        if not math.isfinite(values[-1]):
            at_words = ", ".join(map(number, at))
            raise ValueError(
                f"{_formula(step, names)} has no finite value at {at_words}: choose other numbers."
            )
    return values


def _computed(function: Callable[..., float], at: Sequence[float]) -> float:
    """Return the value of the function, or NaN if it has none."""
    try:
        return float(function(*at))
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan


def _backwards(
    steps: Sequence[_Step], values: Sequence[float], names: Sequence[str]
) -> list[float]:
    """Compute the derivative of the output with respect to every step (reverse mode)."""
    derivatives = [0.0] * len(steps)
    derivatives[-1] = 1.0
    for place in reversed(range(len(steps))):
        step = steps[place]
        for k, partial in _partials(step, values[place], values):
            derivatives[k] += derivatives[place] * partial
            if not math.isfinite(derivatives[k]):
                raise ValueError(
                    f"{_formula(step, names)} has no finite derivative with respect to "
                    f"{names[k]} at {', '.join(map(number, _operands(step, values)))}: choose "
                    "other numbers."
                )
    return derivatives


def _partials(step: _Step, value: float, values: Sequence[float]) -> list[tuple[int, float]]:
    """Return the positions of the operands of a step, and the derivatives with respect to them."""
    at = _operands(step, values)
    return [
        (k, _computed(step.operation.partials[j], [value, *at]) if step.operation else 1.0)
        for j, k in enumerate(step.operands)
        if isinstance(k, int)
    ]


def _along(
    steps: Sequence[_Step], given: Mapping[str, float], name: str
) -> Callable[[float], float]:
    """Return the expression as a function of one variable. It returns NaN if there is no value."""

    def f(value: float) -> float:
        values: list[float] = []
        for step in steps:
            at = _operands(step, values)
            if step.name:
                values.append(value if step.name == name else given[step.name])
            else:
                values.append(_computed(step.operation.value, at) if step.operation else at[0])
        return values[-1]

    return f
