"""Fitted models of every kind and form: the list that drives the tests of model files."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from separatrix import (
    LOSSES,
    GradientDescentClassifier,
    KernelClassifier,
    LinearSVC,
    LinearSVCCV,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    SGDClassifier,
)
from separatrix.losses import make_loss

X, THREE = load_iris(return_X_y=True)
X = X[::3]
THREE = THREE[::3]
TWO = np.array(["rest", "virginica"])[(THREE == 2).astype(int)]
FRAME = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])


def _threshold():
    model = LogisticRegression(0.1).fit(X, TWO)
    model.choose_threshold(X, TWO, recall=1.0)
    return model


def _continued(rule, y=THREE):
    model = GradientDescentClassifier(rule=rule, learning_rate=0.05, momentum=0.5)
    for _ in range(3):
        model.partial_fit(X, y, np.unique(y))
    return model


def _perceptron():
    model = Perceptron(random_state=3)
    for _ in range(3):
        model.partial_fit(X, THREE, [0, 1, 2])
    return model


def _sgd():
    model = SGDClassifier("log_loss", alpha=0.1, average=10, random_state=0)
    for _ in range(3):
        model.partial_fit(X, THREE, [0, 1, 2])
    return model


MODELS = {
    "logistic two": lambda: LogisticRegression(10.0).fit(X, TWO),
    "logistic three": lambda: LogisticRegression(class_weight={0: 1.0, 1: 2, 2: 0.5}).fit(X, THREE),
    "logistic reference": lambda: LogisticRegression(multiclass="reference").fit(X, THREE),
    "logistic ovr": lambda: LogisticRegression(multiclass="ovr").fit(X, THREE),
    "logistic softmax of two": lambda: LogisticRegression(multiclass="softmax").fit(X, TWO),
    "logistic sparse": lambda: LogisticRegression(0.05, l1_ratio=1.0).fit(X, THREE).sparsify(),
    "logistic separable": lambda: LogisticRegression(np.inf).fit(X, THREE == 0),
    "logistic not converged": lambda: LogisticRegression(max_iter=1).fit(X, THREE),
    "logistic float32": lambda: LogisticRegression(np.float32(0.5)).fit(X.astype("f4"), TWO),
    "logistic frame": lambda: LogisticRegression().fit(FRAME, pd.Series(TWO, dtype=object)),
    "logistic threshold": _threshold,
    "logistic float labels": lambda: LogisticRegression().fit(X, THREE.astype(float)),
    "svc two": lambda: LinearSVC(intercept_scaling=1.0).fit(X, TWO),
    "svc three": lambda: LinearSVC(loss="hinge", tol=1e-2).fit(X, THREE),
    "svc weston watkins": lambda: LinearSVC(multiclass="weston_watkins").fit(X, THREE),
    "svc crammer singer": lambda: LinearSVC(
        0.1, loss="hinge", multiclass="crammer_singer", tol=1e-2
    ).fit(X, THREE),
    "svc probability two": lambda: LinearSVC(probability=3).fit(X, TWO),
    "svc probability three": lambda: LinearSVC(probability=3).fit(X, THREE),
    "kernel rbf": lambda: KernelClassifier(gamma=0.5, rank=7).fit(FRAME, TWO),
    "kernel poly sparse": lambda: KernelClassifier("softmax", kernel="poly", degree=2, rank=5).fit(
        csr_array(X), THREE
    ),
    "logistic cv": lambda: LogisticRegressionCV(Cs=[0.1, 1.0], cv=3).fit(X, THREE),
    "logistic cv mean": lambda: LogisticRegressionCV(
        Cs=np.array([0.1, 1.0]), cv=3, refit=False, scoring="neg_log_loss"
    ).fit(X, TWO),
    "logistic cv legacy": lambda: LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=3, use_legacy_attributes=True
    ).fit(X, THREE),
    "logistic cv legacy ratios": lambda: LogisticRegressionCV(
        Cs=[0.1, 1.0], l1_ratios=[0.0, 0.5, 1.0], cv=3, use_legacy_attributes="warn"
    ).fit(X, TWO),
    "logistic cv legacy ovr": lambda: LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=3, multiclass="ovr", fit_intercept=False, use_legacy_attributes=True
    ).fit(X, THREE),
    "svc cv": lambda: LinearSVCCV(Cs=[0.1, 1.0], cv=3).fit(FRAME, THREE),
    **{
        f"gradient {name}": lambda name=name: GradientDescentClassifier(name, epochs=5).fit(X, TWO)
        for name in LOSSES
    },
    "gradient ovr": lambda: GradientDescentClassifier(multiclass="ovr", epochs=5).fit(X, THREE),
    "gradient margin": lambda: GradientDescentClassifier(
        make_loss("hinge", 2.0), epochs=5, init=(np.ones((3, 4)), np.zeros(3)), betas=(0.5, 0.5)
    ).fit(X, THREE),
    "gradient diverged": lambda: GradientDescentClassifier(
        "squared", learning_rate=10.0, epochs=50
    ).fit(X, THREE),
    "gradient patience": lambda: GradientDescentClassifier(
        learning_rate=0.1, patience=2, epochs=40, validate_every=2
    ).fit(X[::2], THREE[::2], X_val=X[1::2], y_val=THREE[1::2]),
    **{
        f"gradient continued {rule}": lambda rule=rule: _continued(rule)
        for rule in ("plain", "momentum", "nesterov", "adam")
    },
    "perceptron two": lambda: Perceptron(epochs=20).fit(X, TWO),
    "perceptron continued": _perceptron,
    "perceptron penalty": lambda: Perceptron(penalty="l2", tol=1e-3).fit(X, THREE),
    "sgd two": lambda: SGDClassifier(random_state=0).fit(X, TWO),
    "sgd adaptive": lambda: SGDClassifier(
        loss="modified_huber", learning_rate="adaptive", early_stopping=True, random_state=0
    ).fit(X, THREE),
    "sgd continued": _sgd,
    "sgd sparse": lambda: SGDClassifier(penalty="l1", random_state=0).fit(X, THREE).sparsify(),
}


@cache
def fitted(name):
    """A model of the list, fitted once. Do not change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()
