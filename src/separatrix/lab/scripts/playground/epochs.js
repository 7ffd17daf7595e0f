/**
 * The epochs of a play that the page holds, in pieces of `PIECE` epochs.
 *
 * A row of an epoch has, for every model, its weights, its biases and its measures. See `play.py`.
 */

import { getNumbers } from "./client.js";

const PIECE = 100;

/** Return a store of epochs: `ready(epoch)`, `fetch(epoch)`, `row(epoch)`, `ahead(epoch)`. */
export function makeEpochs(play) {
  const pieces = new Map(), asked = new Map();
  let last = Infinity;

  function fetchPiece(number) {
    if (!asked.has(number)) {
      const from = number * PIECE;
      asked.set(number, getNumbers(`/api/play/${play.id}?from=${from}&count=${PIECE}`)
        .then(numbers => {
          pieces.set(number, numbers);
          const count = numbers.length / play.width;
          if (count < PIECE) last = from + count - 1;
        })
        .catch(error => {
          asked.delete(number);
          throw error;
        }));
    }
    return asked.get(number);
  }

  const numberOf = epoch => Math.floor(epoch / PIECE);
  return {
    /** The last epoch that the server trains; Infinity as long as it is not known. */
    last: () => last,
    ready: epoch => pieces.has(numberOf(epoch)),
    fetch: epoch => fetchPiece(numberOf(epoch)),
    /** Ask for the next piece when the present one is half played. */
    ahead(epoch) {
      const next = numberOf(epoch + PIECE / 2);
      if (next * PIECE <= last) fetchPiece(next).catch(() => {});
    },
    row(epoch) {
      const at = (epoch % PIECE) * play.width;
      return pieces.get(numberOf(epoch)).subarray(at, at + play.width);
    },
  };
}

/** Return where a measure of a model is in every row. */
export function placeOf(play, model, name) {
  const { offset, outputs } = play.models[model];
  return offset + (play.features.length + 1) * outputs + play.measures.indexOf(name);
}

/** Return a measure of a model in a row. */
export function measure(play, row, model, name) {
  return row[placeOf(play, model, name)];
}

/** Whether a model's numbers are no longer finite, or its objective is far above its start. */
export function hasDiverged(play, first, row, model) {
  const value = measure(play, row, model, "objective");
  return !Number.isFinite(value) || value > 10 * measure(play, first, model, "objective");
}
