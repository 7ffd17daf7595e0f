"""Learning and validation curves, and a permutation test."""

from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import learning_curve, permutation_test_score, validation_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_wine(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
sizes, _, test = learning_curve(model, X, y, shuffle=True, random_state=0, train_sizes=[0.3, 1.0])
print("sizes", int(sizes.sum()))
print("smallest", test[0].mean())
print("largest", test[-1].mean())
_, test = validation_curve(model, X, y, param_name="logisticregression__C", param_range=[1e-3, 1.0])
print("weak", test[-1].mean())
print("p", permutation_test_score(model, X, y, n_permutations=9, random_state=0)[2])
