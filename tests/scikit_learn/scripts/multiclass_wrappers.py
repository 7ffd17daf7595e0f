"""One-vs-rest, one-vs-one and error-correcting codes around linear models."""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import LinearSVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, random_state=5)
rest = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(X_train, y_train)
print("one vs rest", rest.score(X_test, y_test))
pairs = OneVsOneClassifier(LinearSVC(C=0.1)).fit(X_train, y_train)
print("one vs one", pairs.score(X_test, y_test))
