"""A decision threshold for unbalanced classes."""

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, precision_recall_curve
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

X, y = make_classification(3000, weights=[0.9], flip_y=0.02, random_state=7)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=7, stratify=y)
tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring="balanced_accuracy")
tuned.fit(X_train, y_train)
print("balanced accuracy", balanced_accuracy_score(y_test, tuned.predict(X_test)))
plain = LogisticRegression(class_weight="balanced").fit(X_train, y_train)
print("balanced weights", balanced_accuracy_score(y_test, plain.predict(X_test)))
p, r, _ = precision_recall_curve(y_test, plain.predict_proba(X_test)[:, 1])
print("precision", p[r >= 0.8].max())
