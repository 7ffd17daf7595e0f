"""A pandas frame with numbers, categories and missing values."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.default_rng(3)
n = 600
frame = pd.DataFrame(
    {
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
        "fare": rng.lognormal(3, 1, n),
        "port": rng.choice(["S", "C", "Q"], n),
    }
)
chance = 1 / (1 + np.exp(-(frame["fare"] / 30 - 1 + (frame["port"] == "C"))))
survived = (rng.random(n) < chance).astype(int)
numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
columns = ColumnTransformer([("num", numbers, ["age", "fare"]), ("cat", OneHotEncoder(), ["port"])])
model = make_pipeline(columns, LogisticRegression())
print("auc", cross_val_score(model, frame, survived, scoring="roc_auc").mean())
model.fit(frame, survived)
print("accuracy", model.score(frame, survived))
