"""A polars frame in, a pipeline out."""

import numpy as np
import polars as pl
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

X, y = load_iris(return_X_y=True)
frame = pl.DataFrame({f"feature {k}": X[:, k] for k in range(4)})
model = make_pipeline(StandardScaler().set_output(transform="polars"), LinearSVC(C=0.5))
model.fit(frame, y)
print("accuracy", model.score(frame, y))
print("classes", len(np.unique(model.predict(frame))))
