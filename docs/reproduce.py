"""Write docs/reproduction.md: the eight tables of a homework report, printed and recomputed.

    python docs/reproduce.py            write the page
    python docs/reproduce.py --check    check whether the page is up to date

Except for the printed numbers, all numbers on the page come from studies that this script runs. The
part about two classes needs the files of the course (SEPARATRIX_DATA). Without them that part is
left unchanged.
"""

import argparse
import difflib
import math
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from separatrix import GradientDescentClassifier, Study

PAGE = Path(__file__).resolve().parent / "reproduction.md"
MEASURES = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")
SHORT = ("train loss", "train %", "val. loss", "val. %")
BASES = {"natural": 1.0, "binary": math.log(2.0), "base-10": math.log(10.0)}
STARTS = 50  # number of random starts
WIDTH = 105
SETTLED = 1e-2  # from this learning rate on, or with momentum, the start has no influence


@dataclass(frozen=True)
class Table:
    """A table of the report: what it varies, and its rows by (rate, epochs, momentum)."""

    number: int
    varies: str
    rows: dict


BINARY = [
    Table(1, "rate", {
        (1e-1, 500, 0.0): (0.05, 90.66, 0.17, 86.67),
        (1e-2, 500, 0.0): (0.09, 93.33, 0.16, 85.33),
        (1e-4, 500, 0.0): (0.23, 66.66, 0.24, 68.00),
        (1e-6, 500, 0.0): (0.41, 43.33, 0.35, 53.33),
    }),
    Table(2, "epochs", {
        (1e-2, 100, 0.0): (0.19, 96.66, 0.21, 85.33),
        (1e-2, 250, 0.0): (0.13, 96.66, 0.17, 86.67),
        (1e-2, 500, 0.0): (0.10, 95.33, 0.15, 88.00),
        (1e-2, 1000, 0.0): (0.08, 92.66, 0.15, 89.33),
    }),
    Table(3, "momentum", {
        (1e-2, 1000, 0.0): (0.08, 96.66, 0.15, 85.33),
        (1e-2, 1000, 0.9): (0.05, 97.33, 0.19, 88.00),
    }),
    Table(4, "momentum", {
        (1e-4, 1000, 0.0): (0.26, 95.33, 0.27, 84.00),
        (1e-4, 1000, 0.9): (0.19, 96.66, 0.22, 88.00),
    }),
]  # fmt: skip
IRIS = [
    Table(5, "rate", {
        (1e-1, 250, 0.0): (0.24, 98.00, 0.23, 100.00),
        (1e-2, 250, 0.0): (0.54, 93.00, 0.53, 92.00),
        (1e-4, 250, 0.0): (1.08, 64.00, 1.08, 72.00),
        (1e-6, 250, 0.0): (1.10, 31.33, 1.09, 40.00),
    }),
    Table(6, "epochs", {
        (1e-2, 100, 0.0): (0.71, 87.00, 0.70, 88.00),
        (1e-2, 250, 0.0): (0.55, 97.00, 0.54, 96.00),
        (1e-2, 500, 0.0): (0.45, 97.00, 0.44, 96.00),
        (1e-2, 1000, 0.0): (0.36, 98.00, 0.35, 100.00),
    }),
    Table(7, "momentum", {
        (1e-2, 500, 0.0): (0.45, 97.00, 0.44, 96.00),
        (1e-2, 500, 0.9): (0.17, 97.00, 0.16, 100.00),
    }),
    Table(8, "momentum", {  # the caption says 1000 epochs, the text above it 500
        (1e-4, 500, 0.0): (1.05, 53.00, 1.05, 64.00),
        (1e-4, 500, 0.9): (0.85, 77.00, 0.83, 84.00),
    }),
]  # fmt: skip
HOMEWORK = {
    "learning_rate": [1e-1, 1e-2, 1e-4, 1e-6],
    "momentum": [0.0, 0.9],
    "epochs": [100, 250, 500, 1000],
}

UNSETTLED = HOMEWORK | {"learning_rate": [1e-4, 1e-6], "momentum": [0.0]}

INTRODUCTION = """
# Eight tables of a homework report, recomputed

A homework report on logistic and softmax regression prints eight tables of losses and accuracies
for several learning rates, numbers of epochs and momenta. This page trains the same configurations
and compares the results. All models start at zero, have a bias, use unscaled features and follow
the mean gradient. A step with momentum mu is v = mu v - rate g, w = w + v, where g is the gradient.
One command trains all configurations of a data set; its output contains the rows below.

The comparison shows four things that the report does not mention. The losses for two classes and
for three classes use different logarithms. One caption is wrong. Some rows depend on a start that
is not given. One accuracy is impossible.

This page is written by `docs/reproduce.py` from the output of the studies, and a test checks it.
"""

TWO_CLASSES = """
## Two classes: logistic regression, tables 1 to 4

`separatrix study cs725/binary`: {n} training rows, {n_val} validation rows, {d} features. The last
two columns are the recomputed losses in {base} logarithms.

{table}

### Logarithms

The printed losses are too small by a constant factor. The table shows the mean difference between
the printed and the recomputed losses for three bases of the logarithm. It uses the {settled} rows
that do not depend on the start:

{misfits}

In {base} logarithms all losses of these rows agree to within {worst:.3f}; two digits are printed.
Only the printed values use these logarithms, not the training. If the gradient were that of the
base-10 loss, which is 2.3 times smaller, the training loss at 1e-2 after 100, 250, 500 and 1000
epochs would be {slower} in base 10. The printed values are {table_2}.

### The start

At zero weights the loss is log 2, which is {zero:.3f} in {base} logarithms. Table 1 prints {tiny}
for a learning rate of 1e-6. With a learning rate this small the loss can only fall, so that run did
not start at zero. Table 4 prints {later} after 1000 epochs at 1e-4, and table 1 prints {earlier}
after 500, which requires two different starts. The report does not describe the starts. From
{starts} random starts, with normal weights of standard deviation {scale:g}, the same runs end at

{spread}

The losses of the other rows do not depend on the start. Their training accuracies differ from the
printed ones by up to {largest:.2f} percentage points. Some runs are printed twice with different
numbers, although nothing in full-batch gradient descent is random except the start:

{twice}

### Overfitting

The report warns against too many epochs. Its own data contains an example. The study reports for
the learning rate 1e-1 after 500 epochs:

> {overfitting}
"""

THREE_CLASSES = """
## Iris: softmax regression, tables 5 to 8

`separatrix study iris`, which needs no files: {n} training rows, {n_val} validation rows, {d}
features, {classes} classes.

{table}

### Logarithms, again

By the same comparison, the losses of these tables are in {base} logarithms:

{misfits}

### The caption of table 8

The caption says 1000 epochs, and the text above it says 500. The printed training losses differ
from the recomputed ones by {off_500:.3f} on average after 500 epochs, and by {off_1000:.3f} after
1000. So the number of epochs was {likely}.

### An impossible accuracy

{impossible}

### The start, again

At zero weights the loss is log 3 = {zero:.4f}. In 250 or 500 steps at 1e-4 or less the weights
hardly change, and the accuracy is close to that of the start. From {starts} random starts, with
normal weights of standard deviation {scale:g}, the same runs end at

{spread}

Here, too, a run is printed twice with different numbers:

{twice}

### Diagnoses of the study

The report observes that a learning rate of 1e-1 converges fastest. It does, but not smoothly:

> {oscillates}

And no run reaches an optimum, because there is none:

> {separable}
"""


class Recomputed:
    """The grid of the homework on one data set, from zero weights and from random weights."""

    def __init__(self, source, tables, scale):
        self.source, self.tables, self.scale = source, tables, scale
        zeros = GradientDescentClassifier()
        self.facts = self._facts(zeros, HOMEWORK)
        self.rows = {_key(row): row for row in self.facts.table()}
        random = GradientDescentClassifier(init="random", init_scale=scale)
        self.starts = self._facts(random, UNSETTLED, seeds=STARTS)
        slower = HOMEWORK | {"learning_rate": [1e-2 / math.log(10.0)], "momentum": [0.0]}
        self.slower = self._facts(zeros, slower).table()

    def _facts(self, estimator, grid, seeds=1):
        with tempfile.TemporaryDirectory() as folder:
            study = Study("homework", estimator, grid, seeds=seeds, store=Path(folder) / "a.db")
            return study.run(self.source, standardise=False).facts()

    def measures(self, key):
        """Return losses, and accuracies in per cent, after the last epoch."""
        return [self.rows[key][m] * (100.0 if "accuracy" in m else 1.0) for m in MEASURES]

    def printed(self):
        """Return the table, key, printed and recomputed measures of every printed row."""
        return [
            (table, key, row, self.measures(key))
            for table in self.tables
            for key, row in table.rows.items()
        ]

    def settled(self):
        """Return printed and recomputed measures of the rows that do not depend on the start."""
        return [(row, found) for _, key, row, found in self.printed() if _settled(key)]

    def misfits(self):
        """Return the mean difference of these losses for every base of the logarithm."""
        pairs = self.settled()
        return {
            base: np.mean([abs(row[at] - found[at] / log) for row, found in pairs for at in (0, 2)])
            for base, log in BASES.items()
        }

    def base(self):
        """Return the base that fits best."""
        misfits = self.misfits()
        return min(misfits, key=misfits.get)

    def from_starts(self, key, measure):
        """Return a measure after the last epoch, for every random start."""
        number = [_key(row) for row in self.starts.table()].index(key)
        return np.array([history[measure][-1] for history in self.starts.histories[number]])

    def said(self, key, word):
        """Return the study's sentence about a run that begins with the given word."""
        told = self.rows[key]["observations"]
        return next(sentence for sentence in told if sentence.startswith(word))

    def common(self, log=None):
        """Return the values in both parts of the page. Losses are also shown divided by `log`."""
        data = self.facts.data
        return {
            "n": data.rows["train"],
            "n_val": data.rows["validation"],
            "d": data.features,
            "base": self.base(),
            "table": _table(self, log),
            "misfits": _misfits(self.misfits()),
            "starts": STARTS,
            "scale": self.scale,
            "spread": _spread(self, log or 1.0),
            "twice": _twice(self),
        }


def binary_part(two):
    """Return the part about two classes."""
    log = BASES[two.base()]
    pairs = two.settled()
    first, second, _, fourth = (table.rows for table in two.tables)
    return TWO_CLASSES.format(
        **two.common(log),
        settled=len(pairs),
        worst=max(abs(row[at] - found[at] / log) for row, found in pairs for at in (0, 2)),
        slower=_listed(row["train_loss"] / log for row in two.slower),
        table_2=_listed(row[0] for row in second.values()),
        zero=math.log(2.0) / log,
        tiny=first[1e-6, 500, 0.0][0],
        earlier=first[1e-4, 500, 0.0][0],
        later=fourth[1e-4, 1000, 0.0][0],
        largest=max(abs(row[1] - found[1]) for row, found in pairs),
        overfitting=two.said((1e-1, 500, 0.0), "Overfitting"),
    )


def iris_part(iris):
    """Return the part about three classes."""
    last, n = iris.tables[-1].rows, iris.facts.data.rows["train"]
    off = {
        epochs: np.mean(
            [abs(row[0] - iris.measures((k[0], epochs, k[2]))[0]) for k, row in last.items()]
        )
        for epochs in (500, 1000)
    }
    sentences = iris.facts.verdict.sentences
    return THREE_CLASSES.format(
        **iris.common(),
        classes=len(iris.facts.data.classes),
        off_500=off[500],
        off_1000=off[1000],
        likely=min(off, key=off.get),
        impossible="\n\n".join(
            f"Table {table.number} prints a training accuracy of {row[1]} % at a rate of "
            f"{key[0]:g}. No number of correct rows out of {n} gives {row[1]} %. It is the "
            f"accuracy of {round(1.5 * row[1])} correct rows out of 150, the size of the whole "
            "data set."
            for table, key, row, _ in iris.printed()
            if not _possible(row[1], n)
        ),
        zero=math.log(3.0),
        oscillates=iris.said((1e-1, 250, 0.0), "Oscillates"),
        separable=next(
            sentence for sentence in sentences if "without a penalty" in sentence.lower()
        ),
    )


def _table(found, log):
    """Return a table of printed and recomputed rows, and losses divided by `log` if given."""
    head = ["table", "rate", "epochs", "mom.", *(f"printed {name}" for name in SHORT)]
    head += [f"recomputed {name}" for name in SHORT]
    head += [] if log is None else [f"/ {log:.4f}: train", "val."]
    lines = [_line(head), "|" + "---:|" * len(head)]
    for table, (rate, epochs, momentum), row, measures in found.printed():
        cells = [table.number, f"{rate:.0e}", epochs, f"{momentum:g}"]
        cells += [f"{value:.2f}" for value in row]
        cells += [f"{value:.{4 if at in (0, 2) else 2}f}" for at, value in enumerate(measures)]
        cells += [] if log is None else [f"{measures[at] / log:.3f}" for at in (0, 2)]
        lines.append(_line(cells))
    return "\n".join(lines)


def _misfits(misfits):
    values = [f"{value:.3f}" for value in misfits.values()]
    return "\n".join([_line(misfits), "|" + "---:|" * len(values), _line(values)])


def _spread(found, log):
    """Return a table of the rows that depend on the start, from random starts."""
    head = ["rate", "epochs", "printed train loss", "from starts", "printed train %", "from starts"]
    lines = [_line(head), "|" + "---:|" * len(head)]
    for key, row in {key: row for _, key, row, _ in found.printed() if not _settled(key)}.items():
        losses = found.from_starts(key, "train_loss") / log
        shares = 100.0 * found.from_starts(key, "train_accuracy")
        cells = [
            f"{key[0]:.0e}",
            key[1],
            f"{row[0]:.2f}",
            f"{losses.min():.2f} to {losses.max():.2f}",
            f"{row[1]:.2f}",
            f"{shares.min():.0f} to {shares.max():.0f}",
        ]
        lines.append(_line(cells))
    return "\n".join(lines)


def _twice(found):
    """List the configurations that the report prints twice with different numbers."""
    first, out = {}, []
    for table, key, row, _ in found.printed():
        number, before = first.setdefault(key, (table.number, row))
        if before != row:
            out.append(
                f"- {key[0]:g}, {key[1]} epochs: {_listed(before)} in table {number}, "
                f"{_listed(row)} in table {table.number}"
            )
    return "\n".join(out)


def _line(cells):
    return f"| {' | '.join(map(str, cells))} |"


def _settled(key):
    """Whether the start has no influence on a run: a large learning rate, or momentum."""
    return key[0] >= SETTLED or key[2] > 0.0


def _possible(share, rows):
    """Whether a percentage with two digits is a whole number of rows, cut or rounded."""
    nearest = {math.floor(share * rows / 100.0) + k for k in (0, 1)}
    return any(abs(100.0 * right / rows - share) < 0.01 for right in nearest)


def _key(row):
    return row["learning_rate"], row["epochs"], row.get("momentum", 0.0)


def _listed(values):
    *most, last = (f"{value:.2f}" for value in values)
    return f"{', '.join(most)} and {last}"


def parts():
    """Return the parts of the page that can be written on this machine, by name."""
    found = {}
    try:
        found["binary"] = binary_part(Recomputed("cs725/binary", BINARY, scale=1.0))
    except FileNotFoundError:
        print(
            "cs725/binary was not found: its part of the page is left unchanged.", file=sys.stderr
        )
    found["iris"] = iris_part(Recomputed("iris", IRIS, scale=0.1))
    return {name: filled(text) for name, text in found.items()}


def whole(written, there):
    """Return the whole page. Parts that were not written are taken from the present page."""
    out = [filled(INTRODUCTION)]
    for name in ("binary", "iris"):
        mark = f"<!-- part: {name} -->"
        text = written.get(name) or there.partition(mark)[2].partition("<!-- part: ")[0].strip()
        out += [mark, text]
    return "\n\n".join(out) + "\n"


def filled(text):
    """Wrap paragraphs to the width of the pages, but not tables, lists and quotations."""
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(
        p if p.startswith(("|", ">", "#", "-")) else textwrap.fill(p, WIDTH) for p in paragraphs
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare without writing")
    parser.add_argument("--page", type=Path, default=PAGE, help="docs/reproduction.md")
    given = parser.parse_args()
    there = given.page.read_text(encoding="utf-8") if given.page.exists() else ""
    text = whole(parts(), there)
    if not given.check:
        given.page.write_text(text, encoding="utf-8")
    elif text != there:
        lines = (part.splitlines(keepends=True) for part in (there, text))
        sys.stdout.writelines(difflib.unified_diff(*lines, str(given.page), "recomputed"))
        sys.exit(f"{given.page} is out of date. Write it again with: python docs/reproduce.py")


if __name__ == "__main__":
    main()
