"""Stochastic gradient descent with several losses and penalties."""

from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
for loss in ("hinge", "log_loss", "modified_huber"):
    model = make_pipeline(
        StandardScaler(), SGDClassifier(loss, alpha=1e-3, average=True, random_state=0)
    )
    print(loss, model.fit(X_train, y_train).score(X_test, y_test))
model = SGDClassifier(penalty="elasticnet", early_stopping=True, random_state=0)
print("elastic net", model.fit(X_train / 16, y_train).score(X_test / 16, y_test))
