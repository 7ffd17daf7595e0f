"""A linear machine on random Fourier features."""

from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

X, y = make_moons(600, noise=0.25, random_state=0)
svm = make_pipeline(RBFSampler(gamma=2.0, n_components=60, random_state=1), LinearSVC(C=1.0))
print("random features", svm.fit(X[:400], y[:400]).score(X[400:], y[400:]))
logistic = make_pipeline(Nystroem(gamma=1.0, n_components=40, random_state=1), LogisticRegression())
print("Nystroem", logistic.fit(X[:400], y[:400]).score(X[400:], y[400:]))
