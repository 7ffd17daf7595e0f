"""Calibrated probabilities of a support vector machine."""

from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

X, y = make_classification(2000, n_features=20, n_informative=5, flip_y=0.1, random_state=42)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=42)
model = CalibratedClassifierCV(LinearSVC(C=0.1), cv=3).fit(X_train, y_train)
p = model.predict_proba(X_test)[:, 1]
print("brier", brier_score_loss(y_test, p))
print("log loss", log_loss(y_test, p))
print("bins", len(calibration_curve(y_test, p, n_bins=5)[0]))
