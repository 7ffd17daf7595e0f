-- Version 3: what the report draws when the data is no longer there. All of it is NULL or missing
-- in studies of older versions.

ALTER TABLE runs ADD COLUMN val_confusion BLOB;      -- (C, C): validation rows by true and predicted class
ALTER TABLE runs ADD COLUMN val_calibration BLOB;    -- (groups, 5): probability, frequency, rows, interval
ALTER TABLE histories ADD COLUMN frame_epochs BLOB;  -- (F,): epochs whose weights were kept
ALTER TABLE histories ADD COLUMN frames BLOB;        -- (F, K, 3): the weights of two features, and the bias

-- A sample of the rows, and the steps of a failed run: .npz bytes and JSON.
CREATE TABLE pictures (
    study INTEGER NOT NULL REFERENCES studies ON DELETE CASCADE,
    kind TEXT NOT NULL,
    facts TEXT NOT NULL,
    arrays BLOB NOT NULL,
    PRIMARY KEY (study, kind)
);
