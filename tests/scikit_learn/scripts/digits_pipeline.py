"""Digits: scaling, softmax regression, a confusion matrix."""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
clf.fit(X_train, y_train)
print("accuracy", clf.score(X_test, y_test))
print("f1", f1_score(y_test, clf.predict(X_test), average="macro"))
print("right", confusion_matrix(y_test, clf.predict(X_test)).trace() / len(y_test))
