"""Several labels per row, by a chain and by independent classifiers."""

from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import jaccard_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

X, Y = make_multilabel_classification(600, n_features=15, n_classes=4, random_state=2)
chain = ClassifierChain(LogisticRegression(max_iter=1000), order="random", random_state=0)
chain.fit(X[:400], Y[:400])
print("chain", jaccard_score(Y[400:], chain.predict(X[400:]), average="samples", zero_division=0))
each = MultiOutputClassifier(LogisticRegression(max_iter=1000)).fit(X[:400], Y[:400])
print("each", jaccard_score(Y[400:], each.predict(X[400:]), average="samples", zero_division=0))
