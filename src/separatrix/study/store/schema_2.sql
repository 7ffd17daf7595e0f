-- Version 2: the log-loss of each validation row by the predicted probabilities, which compares
-- models with different losses. NULL if there are no probabilities, and in runs of version 1.

ALTER TABLE runs ADD COLUMN val_log_loss BLOB;
