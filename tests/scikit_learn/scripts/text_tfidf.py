"""Short messages: TF-IDF and a linear support vector machine."""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

rng = np.random.default_rng(0)
words = {
    0: ["win", "cash", "prize", "free", "call", "now", "claim"],
    1: ["lunch", "home", "later", "ok", "see", "you"],
}
common = ["the", "a", "to", "and", "is", "in", "for", "on", "with", "at"]
y = rng.integers(0, 2, 400)
texts = [
    " ".join(rng.choice(common, 8))
    + " "
    + " ".join(rng.choice(words[k if rng.random() < 0.8 else 1 - k], 2))
    for k in y
]
model = Pipeline([("tfidf", TfidfVectorizer()), ("svm", LinearSVC(C=0.5))])
print("cv", cross_val_score(model, texts, y, cv=5).mean())
