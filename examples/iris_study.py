"""How the learning rate, the momentum and the number of epochs change softmax regression on Iris.

All 32 configurations are trained in one call; what differs only in the number of epochs is one run
that is read off several times.
"""

import textwrap
import time
from itertools import product

from iris_split import load_parts

from separatrix import GradientDescentClassifier, fit_many

RATES = (1e-1, 1e-2, 1e-4, 1e-6)
MOMENTA = (0.0, 0.9)
EPOCHS = (100, 250, 500, 1000)
COLUMNS = ("train_loss", "train_accuracy", "val_loss", "val_accuracy")
WIDTH = 79


def main():
    (X, y), (X_val, y_val), (X_test, y_test) = load_parts()
    models = [
        GradientDescentClassifier(learning_rate=rate, momentum=momentum, epochs=epochs)
        for rate, momentum, epochs in product(RATES, MOMENTA, EPOCHS)
    ]
    start = time.perf_counter()
    fit_many(models, X, y, X_val=X_val, y_val=y_val)
    seconds = time.perf_counter() - start

    best = min(models, key=lambda model: last(model)["val_loss"])
    print(f"\nSoftmax regression on Iris: {len(y)} rows to train on, {len(y_val)} to validate.")
    say(f"Minimised: {models[0].objective()}.")
    print_table(models, best)
    say(
        f"{len(models)} configurations in {seconds:.2f} s: {len(models) // len(EPOCHS)} runs, "
        f"trained together, each read off after {', '.join(map(str, EPOCHS))} epochs."
    )
    say(
        f"* Lowest validation loss: rate {best.learning_rate:g}, momentum {best.momentum:g}, "
        f"{best.epochs} epochs. On the {len(y_test)} test rows, not looked at so far, it is right "
        f"in {best.score(X_test, y_test):.0%}."
    )
    print_diagnoses(models)


def say(text, indent=""):
    """Print a paragraph in lines of the table's width, and an empty line."""
    print(textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent) + "\n")


def last(model):
    """The record of the last epoch."""
    return {name: model.history_[name][-1] for name in COLUMNS}


def print_table(models, best):
    everywhere = shared_kinds(models)
    print(f"{'training':>34}{'validation':>16}")
    print("   rate  mom.  epochs    loss  right    loss  right  stopped  diagnosis")
    for model in models:
        if (model.momentum, model.epochs) == (MOMENTA[0], EPOCHS[0]):
            print("-" * WIDTH)
        end = last(model)
        kinds = [d.kind for d in model.diagnoses_ if d.kind not in everywhere]
        print(
            f"{'*' if model is best else ' '} {model.learning_rate:5.0e}  {model.momentum:4g}"
            f"  {model.epochs:6d}"
            f"  {end['train_loss']:6.4f}  {end['train_accuracy']:5.0%}"
            f"  {end['val_loss']:6.4f}  {end['val_accuracy']:5.0%}"
            f"  {model.stop_reason_:7}  {in_words(kinds)}".rstrip()
        )
    print("-" * WIDTH)


def print_diagnoses(models):
    """Every kind of diagnosis once, at the first row that has it."""
    everywhere = shared_kinds(models)
    shown = set()
    for model in models:
        for found in model.diagnoses_:
            if found.kind in shown:
                continue
            shown.add(found.kind)
            where = f"rate {model.learning_rate:g}, momentum {model.momentum:g}, {model.epochs}"
            where = "all rows" if found.kind in everywhere else f"first at {where} epochs"
            print(f"{found.kind.replace('_', ' ')} ({where})")
            say(f"{found.message} {found.remedy}", indent="  ")


def shared_kinds(models):
    """What is diagnosed of every model: the data's doing, not the configuration's."""
    return set.intersection(*({d.kind for d in model.diagnoses_} for model in models))


def in_words(kinds):
    """The first kind in words, and how many more there are."""
    words = kinds[0].replace("_", " ") if kinds else ""
    return words + (f", +{len(kinds) - 1}" if len(kinds) > 1 else "")


if __name__ == "__main__":
    main()
