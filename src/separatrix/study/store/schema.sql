-- Version 1. Arrays are .npy bytes (checkpoints: .npz), texts in JSON; nothing is ever pickled.

CREATE TABLE studies (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK (length(name) > 0),
    created TEXT NOT NULL,               -- UTC, ISO 8601
    finished INTEGER NOT NULL DEFAULT 0,
    seconds REAL NOT NULL DEFAULT 0,     -- of training, over all sessions
    plan TEXT NOT NULL,                  -- what makes it this study: estimator, grid, seeds, data
    about TEXT NOT NULL                  -- what is told of it: command, versions, notes, data
);

-- One configuration with one seed. What differs only in its number of epochs shares a history.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    study INTEGER NOT NULL REFERENCES studies ON DELETE CASCADE,
    configuration INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    history INTEGER REFERENCES histories ON DELETE SET NULL,
    found TEXT,                          -- JSON; NULL until it is done
    coef BLOB,
    intercept BLOB,
    val_right BLOB,                      -- for every validation row, whether it is predicted right
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

-- Where the batch that is being trained stands: .npz bytes in pieces, since a value has a limit.
CREATE TABLE checkpoints (
    study INTEGER NOT NULL REFERENCES studies ON DELETE CASCADE,
    batch INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    arrays BLOB NOT NULL,
    PRIMARY KEY (study, batch, piece)
);

-- Who is writing a study. A process that is gone has let go.
CREATE TABLE writers (
    study INTEGER PRIMARY KEY REFERENCES studies ON DELETE CASCADE,
    token TEXT NOT NULL,
    host TEXT NOT NULL,
    process INTEGER NOT NULL,
    born TEXT NOT NULL,                  -- tells the process from a later one of the same number
    heartbeat REAL NOT NULL              -- seconds since 1970
);
