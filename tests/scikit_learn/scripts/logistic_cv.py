"""Wine: the strength of the penalty by LogisticRegressionCV."""

from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=3, stratify=y)
scaler = StandardScaler().fit(X_train)
model = LogisticRegressionCV(Cs=5, cv=3, max_iter=2000, scoring="neg_log_loss", l1_ratios=(0,))
model.fit(scaler.transform(X_train), y_train)
print("accuracy", (model.predict(scaler.transform(X_test)) == y_test).mean())
print("log loss", model.score(scaler.transform(X_test), y_test))
