-- Version 1. Arrays are stored as .npy bytes (checkpoints as .npz), other values as JSON.

CREATE TABLE studies (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK (length(name) > 0),
    created TEXT NOT NULL,               -- UTC, ISO 8601
    finished INTEGER NOT NULL DEFAULT 0,
    seconds REAL NOT NULL DEFAULT 0,     -- training time of all sessions
    plan TEXT NOT NULL,                  -- JSON: what identifies it: estimator, grid, seeds, data
    about TEXT NOT NULL                  -- JSON: description: command, versions, notes, data
);

-- A run is a configuration with a seed. Runs that differ only in their epochs share a history.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    study INTEGER NOT NULL REFERENCES studies ON DELETE CASCADE,
    configuration INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    history INTEGER REFERENCES histories ON DELETE SET NULL,
    found TEXT,                          -- JSON: facts; NULL until the run is finished
    coef BLOB,
    intercept BLOB,
    val_right BLOB,                      -- of every validation row: correctly classified?
    val_loss BLOB,                       -- and its loss
    UNIQUE (study, configuration, seed)
);
CREATE INDEX runs_by_history ON runs (history);

CREATE TABLE histories (
    id INTEGER PRIMARY KEY,
    study INTEGER NOT NULL REFERENCES studies ON DELETE CASCADE,
    fields TEXT NOT NULL,                -- JSON: the names of the rows
    records BLOB NOT NULL                -- (fields, epochs)
);
CREATE INDEX histories_by_study ON histories (study);

-- The state of a batch in training: .npz bytes in pieces, because SQLite limits a value.
CREATE TABLE checkpoints (
    study INTEGER NOT NULL REFERENCES studies ON DELETE CASCADE,
    batch INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    arrays BLOB NOT NULL,
    PRIMARY KEY (study, batch, piece)
);

-- The process that is writing a study. The entry of a dead process is ignored.
CREATE TABLE writers (
    study INTEGER PRIMARY KEY REFERENCES studies ON DELETE CASCADE,
    token TEXT NOT NULL,
    host TEXT NOT NULL,
    process INTEGER NOT NULL,
    born TEXT NOT NULL,                  -- start time, because process numbers are reused
    heartbeat REAL NOT NULL              -- seconds since 1970
);
