"""Makes study-v1.db and study-v1.json; not to be run again for version 1."""

import json
from pathlib import Path

from separatrix import GradientDescentClassifier, Study

HERE = Path(__file__).parent

if __name__ == "__main__":
    path = HERE / "study-v1.db"
    grid = {"learning_rate": [0.1, 0.01], "epochs": [3, 5]}
    study = Study("golden", GradientDescentClassifier(), grid, store=path, command="golden")
    facts = study.run("iris", standardise=False).facts()
    expected = {
        "table": facts.table(),
        "sentences": facts.verdict.sentences,
        "train_loss": facts.histories[0][0]["train_loss"].tolist(),
    }
    path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")
