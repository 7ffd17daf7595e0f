"""Bags and votes of linear models."""

from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

X, y = make_classification(1200, n_features=12, n_informative=6, random_state=9)
X_train, X_test, y_train, y_test = X[:800], X[800:], y[:800], y[800:]
bag = BaggingClassifier(LogisticRegression(), n_estimators=10, random_state=0)
print("bag", bag.fit(X_train, y_train).score(X_test, y_test))
vote = VotingClassifier([("l", LogisticRegression()), ("s", LinearSVC(C=0.1)), ("n", GaussianNB())])
print("vote", vote.fit(X_train, y_train).score(X_test, y_test))
