"""ROC, precision-recall and confusion displays."""

import matplotlib as mpl

mpl.use("Agg")
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, RocCurveDisplay
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
print("auc", RocCurveDisplay.from_estimator(model, X[1::2], y[1::2]).roc_auc)
curve = PrecisionRecallDisplay.from_estimator(model, X[1::2], y[1::2])
print("average precision", curve.average_precision)
shown = ConfusionMatrixDisplay.from_estimator(model, X[1::2], y[1::2])
print("right", shown.confusion_matrix.trace() / len(y[1::2]))
