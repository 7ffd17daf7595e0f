"""A stack of a tree and a linear model, with logistic regression on top."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
parts = [
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
    ("svm", make_pipeline(StandardScaler(), LinearSVC(C=0.1))),
]
model = StackingClassifier(parts, final_estimator=LogisticRegression()).fit(X_train, y_train)
print("accuracy", model.score(X_test, y_test))
