"""A stream of documents: hashed words and partial_fit."""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron, SGDClassifier

rng = np.random.default_rng(1)
topics = [[f"word{k}" for k in range(0, 60)], [f"word{k}" for k in range(40, 100)]]
y = rng.integers(0, 2, 1200)
documents = [" ".join(rng.choice(topics[k], 15)) for k in y]
hashing = HashingVectorizer(n_features=2**12, alternate_sign=False)
for model in (SGDClassifier(loss="log_loss", random_state=0), Perceptron(random_state=0)):
    for start in range(0, 900, 100):
        rows = slice(start, start + 100)
        model.partial_fit(hashing.transform(documents[rows]), y[rows], classes=[0, 1])
    print(type(model).__name__, model.score(hashing.transform(documents[900:]), y[900:]))
