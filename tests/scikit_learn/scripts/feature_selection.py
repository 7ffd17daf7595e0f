"""Features chosen by an L1 penalty and by recursive elimination."""

from sklearn.datasets import make_classification
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

X, y = make_classification(500, n_features=30, n_informative=6, n_redundant=0, random_state=4)
chosen = SelectFromModel(LinearSVC(penalty="l1", dual=False, C=0.02)).fit(X, y)
print("L1", int(chosen.get_support().sum()))
rfe = RFE(LogisticRegression(max_iter=1000), n_features_to_select=8).fit(X, y)
print("RFE", int((rfe.ranking_ == 1).sum()))
print("common", int((rfe.support_ & chosen.get_support()).sum()))
print("accuracy", rfe.score(X, y))
