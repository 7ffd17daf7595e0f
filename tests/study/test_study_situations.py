"""Situations at the end of a study: no sentence of a verdict contradicts another one.

Every situation is a list of configurations made by hand. What the verdict must say of it is written
beside it; the rules that hold for every verdict are checked for all of them.
"""

import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from separatrix.study.results.comparison import FinishedConfiguration
from separatrix.study.results.facts import Row
from separatrix.study.results.verdict import judge

N = 80  # validation rows
RNG = np.random.default_rng(0)
BASE = RNG.uniform(0.2, 0.4, N)  # the loss of each row
NOISE = RNG.normal(0.0, 0.05, N)  # enough to hide a difference of 0.001

_OF_ROW = ("diverged", "stable_rate", "best_epoch", "smoothness")


def made(parameters, *, wrong=0, since=0, loss=0.0, noisy=0, rows=N, name="logistic", **more):
    """A configuration that misclassifies `wrong` rows from `since` on; its loss is 0.3 + `loss`.

    `noisy` is the size of the noise of its losses, and `weighted` its accuracy with sample weights.
    """
    right = np.ones(rows)
    right[since : since + wrong] = 0.0
    losses = BASE[:rows] + loss + noisy * NOISE[:rows]
    row = {key: more.pop(key) for key in _OF_ROW if key in more}
    kept = {"val_accuracy": right.mean(), "val_loss": losses.mean(), "train_loss": losses.mean()}
    kept["val_accuracy"] = more.pop("weighted", kept["val_accuracy"])
    if row.get("diverged"):
        right, losses = np.zeros(rows), np.full(rows, 1e9)
    more.setdefault("log_losses", losses)
    return lambda number: FinishedConfiguration(
        Row(number, parameters, "done", **row), kept, {}, right, losses, name, **more
    )


def rates(*each):
    """Configurations with learning rates 0.01, 0.1, 1, ... and these properties."""
    return [made({"learning_rate": 10.0 ** (k - 2)}, **more) for k, more in enumerate(each)]


def epochs(*each):
    """Configurations with 100, 200, 400, ... epochs and these properties."""
    return [made({"epochs": 100 * 2**k}, **more) for k, more in enumerate(each)]


def losses(*each):
    """Configurations with a loss function and these properties; hinge has no probabilities."""
    return [
        made({"loss": name}, name=name, **({"log_losses": None} if name == "hinge" else {}) | more)
        for name, more in each
    ]


@dataclass
class Situation:
    name: str
    configurations: list
    best: int | None
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    edges: dict = field(default_factory=dict)
    waiting: int = 0


SLOW = {"unconverged": "not_converged"}
SWINGS = {"unconverged": "oscillating"}
NOISY = {"unconverged": "noisy"}
EARLY = {"unconverged": "stopped_early"}
OVER = {"overfits": True, "best_epoch": 102}
GONE = {"diverged": 1}

SITUATIONS = [
    Situation("one run", rates({}), 0, never=("other configuration",)),
    Situation("one unconverged run", rates(SLOW), 0, ("1 of 1 configuration did not converge",)),
    Situation("one diverged run", rates(GONE), None, ("only finished configuration diverged",)),
    Situation("all diverged", rates(GONE, GONE), None, ("All 2 finished configurations",)),
    Situation("nothing finished", [], None, ("No verdict yet",), waiting=3),
    Situation("unfinished", rates({}, {"loss": 1.0}), 0, ("preliminary",), waiting=1,
              edges={"learning_rate": "low"}),
    Situation("lower loss wins", rates({"loss": 0.5}, {}), 1, ("1 has a higher loss",),
              edges={"learning_rate": "high"}),
    Situation("higher accuracy wins", rates({"wrong": 30}, {"loss": 0.2}), 1,
              ("1 is less accurate",), edges={"learning_rate": "high"}),
    Situation("one row better is no evidence", epochs({}, {"loss": 0.1}), 0, ("early stopping",),
              ("try ",), edges={"epochs": "low"}),
    Situation("more accurate by one row, higher loss", epochs({"wrong": 1}, {"loss": 0.2}), 0,
              ("1 has a higher loss",), edges={"epochs": "low"}),
    Situation("overfitting run is one row better",
              epochs({"wrong": 1, **SLOW}, {"loss": 0.2, **SLOW, **OVER}), 0,
              ("early stopping",), ("overfits", "try "), edges={"epochs": "low"}),
    Situation("best at the most epochs overfits", epochs({"loss": 0.5, **SLOW}, {**SLOW, **OVER}),
              1, ("overfits", "lowest at epoch 102"), ("try larger",)),
    Situation("best at the most epochs still improves", epochs({"loss": 0.5, **SLOW}, SLOW), 1,
              ("The best number of epochs, 200, is the largest",), edges={"epochs": "high"}),
    Situation("best at the most epochs converged", epochs({"loss": 0.5, **SLOW}, {}), 1,
              never=("try larger",)),
    Situation("separable: more epochs never converge",
              epochs({"loss": 0.5, **SLOW}, {**SLOW, "endless": True}), 1, never=("try larger",)),
    Situation("separable: settled is not converged",
              epochs({"loss": 0.5, **SLOW}, {"unconverged": "separable", "endless": True}), 1,
              ("2 of 2 configurations did not converge: 1 still changing, 1 without a finite "
               "optimum.", "did not converge (it has no finite optimum)"), ("try larger",)),
    Situation("equal runs: fewer epochs", epochs({}, {"noisy": True}), 0,
              ("1 other configuration is as good",)),
    Situation("equal runs: converged first",
              epochs({**SLOW, "noisy": True}, {"loss": 0.001}), 1, ("as good",)),
    Situation("equal runs: smaller rate", rates({"loss": 0.001, "noisy": True}, {}), 0,
              ("the simplest of these, by learning rate",)),
    Situation("largest rate best, larger is stable",
              rates({"loss": 1.0}, {"loss": 0.5}, {"stable_rate": 4.0}), 2,
              ("up to 4 is stable",), edges={"learning_rate": "high"}),
    Situation("largest rate best, at the limit",
              rates({"loss": 1.0}, {"loss": 0.5}, {"stable_rate": 0.9}), 2, never=("try larger",)),
    Situation("next rate diverged", rates({"loss": 0.5}, {}, GONE), 1,
              ("1 of 3 configurations diverged, with learning rate 1",), ("try larger",)),
    Situation("same rate diverged with momentum",
              [made({"learning_rate": 0.1, "momentum": 0.0}, loss=0.5),
               made({"learning_rate": 2.4, "momentum": 0.0}),
               made({"learning_rate": 2.4, "momentum": 0.9}, **GONE)], 1,
              ("with learning rate 2.4, momentum 0.9.",), ("try larger",)),
    Situation("smaller rate diverged (seeds)", rates(GONE, {}, {"loss": 0.5}), 1,
              ("with learning rate 0.01",), ("try smaller",)),
    Situation("largest rate oscillates and wins", rates({"loss": 0.5}, SWINGS), 1,
              ("oscillating",), ("try larger",)),
    Situation("smallest rate oscillates and wins", rates(SWINGS, {"loss": 0.5, **SWINGS}, GONE), 0,
              ("is the smallest in the grid: try smaller values",),
              edges={"learning_rate": "low"}),
    Situation("mini-batch noise at the smallest rate", rates(NOISY, {"loss": 0.5, **SLOW}), 0,
              ("1 still changing, 1 with noisy mini-batches", "try smaller values"),
              edges={"learning_rate": "low"}),
    Situation("mini-batch noise at the most epochs", epochs({"loss": 0.5, **SLOW}, NOISY), 1,
              never=("try larger",)),
    Situation("equal losses: convergence decided",
              epochs({**SLOW, "loss": 0.0}, {}), 1,
              ("The configuration above has the lowest loss and is the simplest of these, by "
               "convergence.",)),
    Situation("momentum at its edge", [made({"momentum": 0.0}, loss=0.5), made({"momentum": 0.9})],
              1, edges={"momentum": "high"}),
    Situation("no momentum is best", [made({"momentum": 0.0}), made({"momentum": 0.9}, loss=0.5)],
              0, never=("try smaller",)),
    Situation("strongest penalty best", [made({"l2": 0.0}, loss=0.5), made({"l2": 0.1})], 1,
              edges={"l2": "high"}),
    Situation("no penalty best", [made({"l2": 0.0}), made({"l2": 0.1}, loss=0.5)], 0,
              never=("try smaller",)),
    Situation("weakest penalty best but overfits",
              [made({"l2": 0.001}, **OVER), made({"l2": 0.1}, loss=0.5)], 0,
              ("overfits",), ("try smaller",)),
    Situation("equal penalties: the stronger", [made({"l2": 0.0}, noisy=True), made({"l2": 0.1})],
              1),
    Situation("untrained beside trained", epochs({"loss": 0.4, **SLOW}, SLOW), 1,
              ("No other configuration is as good",), edges={"epochs": "high"}),
    Situation("same accuracy and loss twice", rates({}, {}), 0,
              ("1 other configuration is as good",)),
    Situation("seven crisps", rates({"rows": 3}, {"rows": 3, "loss": 0.5}), 0,
              ("3 validation rows cannot show any difference",), ("as good", "try ")),
    Situation("few rows", rates({"rows": 25}, {"rows": 25, "loss": 0.5}), 0,
              ("at least 6 rows (24 %)", "So few rows are weak evidence"),
              edges={"learning_rate": "low"}),
    Situation("unlike losses with probabilities",
              [made({"loss": "softmax"}, name="softmax"), made({"loss": "logistic"}, loss=0.5)],
              0, ("log-loss", "1 has a higher log-loss")),
    Situation("unlike losses without probabilities",
              losses(("hinge", {"wrong": 1}), ("softmax", {"loss": 9.0})), 1,
              ("difference in accuracy.", "the best of each kind by accuracy")),
    Situation("more accurate, no probabilities",
              losses(("hinge", {"wrong": 30}), ("softmax", {"loss": 9.0})), 1,
              ("1 is less accurate",)),
    Situation("probabilities are compared although a hinge has none",
              losses(("hinge", {"wrong": 1}), ("softmax", {"loss": 0.5}), ("logistic", {})), 2,
              ("1 other configuration is as good: no significant difference in accuracy.",
               "1 has a higher loss (paired t-test)", "were compared by log-loss")),
    Situation("the hinge is the most accurate",
              losses(("hinge", {}), ("softmax", {"loss": 0.5}), ("logistic", {"wrong": 1})), 0,
              ("1 other configuration is as good",
               "1 has a higher loss than another one (paired t-test)")),
    Situation("hinge losses are compared with each other",
              losses(("hinge", {"loss": 0.5}), ("hinge", {}), ("softmax", {"wrong": 1})), 1,
              ("1 other configuration is as good", "1 has a higher loss (paired")),
    Situation("equally accurate kinds: converged first",
              losses(("softmax", SLOW), ("hinge", {"loss": 5.0})), 1,
              ("Equally accurate ones were ranked by convergence",)),
    Situation("each loss by itself, without probabilities",
              [made({"loss": name}, name=name, log_losses=None, wrong=wrong, loss=3.0 * wrong)
               for name, wrong in (("hinge", 1), ("squared_hinge", 0), ("squared_hinge", 2))], 1,
              ("each was compared by itself",), ("log-loss",)),
    Situation("kinds that differ in simplicity: accuracy first",
              [made({"epochs": 100}, name="softmax", wrong=1),
               made({"epochs": 200}, name="hinge", log_losses=None)], 1,
              never=("ranked by",)),
    Situation("less accurate than another one than the best",
              epochs({"wrong": 5}, {"wrong": 6, "since": 10}, {"loss": 0.5}), 0,
              ("1 is less accurate than another one (exact McNemar test) and 1 has a higher loss "
               "(paired t-test)",), edges={"epochs": "low"}),
    Situation("a noisy loss above a significantly higher one",
              epochs({"loss": 0.009, "noisy": True}, {"loss": 0.004}, {}), 2,
              ("No other configuration is as good: 1 has a higher loss (paired t-test), at the "
               "5 % level; 1 more is no better than one of these.",)),
    Situation("less accurate than a significantly less accurate one",
              epochs({"wrong": 17}, {"wrong": 16, "since": 20}, {"wrong": 10, "since": 20}), 2,
              ("No other configuration is as good: 1 is less accurate (exact McNemar test), at the "
               "5 % level; 1 more is no better than one of these.",)),
    Situation("diverged with two values of two parameters",
              [made({"learning_rate": rate, "l2": l2}, **(GONE if rate * l2 > 0.1 else {}),
                    stable_rate=1.0, smoothness=2.0 / (0.9 - l2))
               for rate in (0.1, 1.0, 2.0) for l2 in (0.0, 0.5)], 1,
              ("2 of 6 configurations diverged, with learning rate 1 or 2, l2 0.5. For them, "
               "learning rates up to 0.4 are stable.",)),
    Situation("the rate of the best diverged with a penalty, a larger one with and without",
              [made({"learning_rate": rate, "l2": l2}, **(GONE if rate + l2 > 1.1 else {}),
                    loss=0.1 / rate)
               for rate in (0.1, 1.0, 20.0) for l2 in (0.0, 0.5)], 2,
              ("3 of 6 configurations diverged, with learning rate 1 (l2 0.5) or 20.",)),
    Situation("kinds that nothing tells apart",
              losses(("hinge", {}), ("softmax", {})), 0,
              ("Equally accurate ones were ranked by order in the grid.",)),
    Situation("equally simple: the lower loss",
              [made({"multiclass": "auto"}, loss=0.01, noisy=True), made({"multiclass": "ovr"})],
              1, ("1 other configuration is as good",), ("the simplest",)),
    Situation("all diverged, one of them on mini-batches",
              rates(GONE, {**GONE, "stable_rate": 0.5}), None, ("Lower the learning rate.",)),
    Situation("all diverged, with known limits",
              rates({**GONE, "stable_rate": 0.008}, {**GONE, "stable_rate": 0.5}), None,
              ("Lower the learning rate to 0.008 or less.",)),
    Situation("momentum: the limit at all weights is the smaller one",
              rates({"loss": 1.0}, {"loss": 0.5}, {"stable_rate": 4.0, "smoothness": 1.0}), 2,
              ("up to 2 is stable",), ("up to 4",), edges={"learning_rate": "high"}),
    Situation("some diverge, some are slow, some swing",
              rates(SLOW, {"loss": 0.5, **SWINGS}, GONE, GONE), 0,
              ("2 of 4 configurations diverged, with learning rate 1 or 10",
               "2 of 4 configurations did not converge")),
    Situation("least accurate has the lowest loss", rates({"wrong": 20, "loss": -0.1}, {}), 1,
              ("1 is less accurate",), edges={"learning_rate": "high"}),
    Situation("losses that are equal to four digits", rates({}, {"noisy": 1e-4}), 0,
              ("The configuration above is the simplest of these, by learning rate.",),
              ("The lowest loss",)),
    Situation("rows with weights", rates({"wrong": 8, "weighted": 0.817}), 0,
              ("Weighted validation accuracy 81.7 % (72 of 80 rows)",)),
    Situation("a penalty that is set by C overfits",
              [made({"C": 0.1}, loss=0.5), made({"C": 100.0}, **OVER)], 1,
              ("overfits: its validation loss was lowest at epoch 102. Lower C.",),
              ("early stopping", "l2", "try larger")),
    Situation("the perceptron's rule makes mistakes until the end",
              [made({"epochs": n}, name="perceptron", log_losses=None, **SLOW) for n in (10, 100)],
              0, ("2 of 2 configurations did not converge: still changing.",), ("improving",)),
    Situation("higher losses than the best, and than another one only",
              epochs({"loss": 0.006, "noisy": 1}, {"loss": 0.006}, {"loss": 0.5}, {}), 0,
              ("2 have a higher loss than this or another one (paired t-test)",)),
    Situation("all ended by patience: no convergence decides",
              rates({"loss": 0.001, "noisy": True, **EARLY}, EARLY), 0,
              ("2 of 2 configurations did not converge: stopped early.", "by learning rate"),
              ("convergence",)),
    Situation("patience beside a run that converged",
              rates({"loss": 0.001, "noisy": True, **EARLY}, {}), 1,
              ("1 of 2 configurations did not converge: stopped early.",)),
    Situation("three rates diverged, the smallest only with a penalty",
              [made({"learning_rate": rate, "l2": l2}, **(GONE if rate + l2 > 1.1 else {}))
               for rate in (0.1, 1.0, 20.0, 40.0) for l2 in (0.0, 0.5)], 1,
              ("with learning rate 1 (l2 0.5), 20 or 40.",)),
    Situation("one of six rows", rates({"rows": 6, "wrong": 5, "guessed": 0.5}), 0,
              ("less accurate than always predicting the most frequent class of these rows "
               "(50.0 %)",)),
    Situation("all are untrained",
              rates({"wrong": 40, "guessed": 0.5, **SLOW}, {"wrong": 40, "guessed": 0.5, **SLOW}),
              0, ("This is no more accurate than always predicting",)),
    Situation("better than guessing", rates({"wrong": 39, "guessed": 0.5}), 0,
              never=("always predicting",)),
    Situation("choice of a solver, not a number",
              [made({"multiclass": "auto"}, loss=0.5), made({"multiclass": "ovr"})], 1),
]  # fmt: skip


def kind_of(one, done):
    """The kind of its loss: the losses of one kind can be compared."""
    if len({other.loss for other in done if not other.row.diverged}) == 1:
        return ""
    return "log-loss" if one.log_losses is not None else one.loss


def verdict_of(situation):
    return judged(
        [make(number) for number, make in enumerate(situation.configurations)], situation.waiting
    )


def judged(done, waiting=0):
    grid = {}
    for one in done:
        for name, value in one.row.parameters.items():
            grid[name] = [*dict.fromkeys([*grid.get(name, []), value])]
    return done, judge(done, grid, 1, waiting)


def test_every_situation_has_its_own_name():
    assert len(SITUATIONS) == len({one.name for one in SITUATIONS})


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name)
def test_the_verdict_of_a_situation_is_what_it_should_be(situation):
    _, verdict = verdict_of(situation)
    text = " ".join(verdict.sentences)
    assert verdict.best == situation.best, text
    assert verdict.edges == situation.edges, text
    for words in situation.says:
        assert words in text, text
    for words in situation.never:
        assert words not in text, text


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name)
def test_no_sentence_of_a_verdict_contradicts_another(situation):
    assert_consistent(*verdict_of(situation))


def assert_consistent(done, verdict):
    text = " ".join(verdict.sentences)
    if verdict.best is None:
        assert "Best:" not in text
        assert "try " not in text
        return
    best = done[verdict.best]
    diverged = [one for one in done if one.row.diverged]
    assert best not in diverged
    # Numbers of losses tell the best from the lowest, and a percentage is the one of the count.
    own = re.search(r"ccuracy ([\d.]+) % .*?loss ([-+.e\d]+)\.(?: |$)", text)
    if lowest := re.search(r"The lowest (?:log-)?loss[^,]*, ([-+.e\d]+),", text):
        assert lowest[1] != own[2]
    if count := re.search(r"Validation accuracy ([\d.]+) % \((\d+) of (\d+) rows\)", text):
        assert float(count[1]) == pytest.approx(100 * int(count[2]) / int(count[3]), abs=0.1)
    # The configurations that are as good, those that are worse and those that diverged are all.
    same = re.search(r"([\d,]+) other configurations? (?:is|are) as good", text)
    count = sum(not c.by for c in verdict.comparisons)
    worse = sum(map(int, re.findall(r"(\d+) (?:is|are) less accurate", text)))
    worse += sum(map(int, re.findall(r"(\d+) (?:has|have) a higher (?:log-)?loss", text)))
    worse += sum(map(int, re.findall(r"(\d+) more (?:is|are) no better than one of these", text)))
    if "cannot show any difference" not in text:
        assert (int(same[1]) if same else 0) == count
        assert 1 + count + worse + len(diverged) == len(done)
        assert ("No other configuration is as good" in text) == (count == 0 and worse > 0)
    else:
        assert worse == 0
    # None of the others is better by the measure that decided, and none by accuracy.
    for c in verdict.comparisons:
        other = done[c.number]
        if c.by == "":
            assert (c.p_accuracy or 0.0) > 0.05 or "cannot show" in text
            assert c.p_loss is None or c.p_loss > 0.05
        # A configuration that is as good is more accurate than all that are less accurate.
        for also in verdict.comparisons:
            if not c.by and also.by == "accuracy":
                assert other.right.mean() > done[also.number].right.mean()
        if c.by == "loss":
            lower = [one for one in done if one.losses.mean() < other.losses.mean()]
            assert best in lower if c.is_direct() else lower
        if c.by == "accuracy":
            assert best.right.mean() >= other.right.mean()
        elif c.by and c.p_loss is not None and other.losses.mean() < best.losses.mean():
            assert any(better.losses.mean() < other.losses.mean() for better in done)
        if len(best.right) >= 6:
            assert (c.p_loss is None) == (kind_of(other, done) != kind_of(best, done))
    # Nothing is to be extended towards values that diverged or oscillated, or that overfit.
    for name, side in verdict.edges.items():
        value = best.row.parameters[name]
        for one in done:
            calmer = side == "low" and name in ("learning_rate", "momentum")
            if one in diverged or (one.unconverged == "oscillating" and not calmer):
                theirs = one.row.parameters[name]
                assert theirs < value if side == "high" else theirs > value
        assert f"{value:g}" in text
        assert not (best.overfits and (name, side) in {("epochs", "high"), ("l2", "low")})
    advice = re.findall(r"try (?:larger|smaller) values|longer training raises", text)
    assert len(advice) == len(verdict.edges)
    # The verdict does not suggest more epochs if the best converged, cannot converge or overfits.
    if "number of epochs" in text and "try larger" in text:
        assert best.unconverged
        assert not best.endless
        assert not best.overfits
    # Counts are those of the marks.
    slow = sum(one.unconverged != "" for one in done)
    told = re.search(r"(\d+) of \d+ configurations? did not converge", text)
    assert (int(told[1]) if told else 0) == slow
    told = re.search(r"(\d+) of \d+ configurations? diverged", text)
    assert (int(told[1]) if told else 0) == len(diverged)


def drawn(rng):
    """A study of a few losses, rates and numbers of epochs, with results drawn at random."""
    names = rng.choice(["softmax", "logistic", "hinge", "squared_hinge"], rng.integers(1, 4))
    out = []
    for _ in range(rng.integers(2, 9)):
        name = str(rng.choice(names))
        parameters = {
            "loss": name,
            "learning_rate": float(rng.choice([0.1, 1.0])),
            "epochs": int(rng.choice([100, 200])),
        }
        more = {"log_losses": None} if "hinge" in name else {}
        more |= [{}, {}, SLOW, SWINGS, GONE, OVER][rng.integers(6)]
        out.append(
            made(
                parameters,
                wrong=int(rng.integers(12)),
                since=int(rng.integers(30)),
                loss=float(rng.choice([0.0, 0.001, 0.02])) * rng.integers(3),
                noisy=bool(rng.integers(2)),
                name=name,
                **more,
            )
        )
    return out


@pytest.mark.parametrize("seed", range(100))
def test_no_sentence_about_a_drawn_study_contradicts_another(seed):
    configurations = drawn(np.random.default_rng(seed))
    done, verdict = judged([make(number) for number, make in enumerate(configurations)])
    assert_consistent(done, verdict)


@pytest.mark.parametrize("seed", range(30))
def test_the_best_depends_neither_on_the_order_nor_on_worse_configurations(seed):
    rng = np.random.default_rng(seed)
    configurations = drawn(rng)
    done, verdict = judged([make(number) for number, make in enumerate(configurations)])
    if verdict.best is None:
        return
    best = done[verdict.best].row.parameters
    turned, other = judged([make(number) for number, make in enumerate(configurations[::-1])])
    assert turned[other.best].row.parameters == best
    worse = made(best | {"epochs": 400}, wrong=40, loss=9.0, name=best["loss"], **SLOW)
    more, other = judged([make(number) for number, make in enumerate([worse, *configurations])])
    assert more[other.best].row.parameters == best
