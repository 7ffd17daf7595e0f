/**
 * The epochs of a play that the page holds, in pieces of `PIECE` epochs.
 *
 * A row of an epoch has, for every model, its weights, its biases and its measures. See `play.py`.
 */

import { getNumbers } from "./client.js";

const PIECE = 100;
const DIVERGED_TIMES = 10;

/** Return a store of epochs: `ready(epoch)`, `fetch(epoch)`, `row(epoch)`, `ahead(epoch)`, `start(model)`. */
export function makeEpochs(play) {
  const pieces = new Map(), asked = new Map(), starts = new Map();
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

  /** Return the first positive objective of a model: that of the perceptron starts at 0. */
  function start(model) {
    for (let e = 0; !starts.has(model) && pieces.has(numberOf(e)) && e < PIECE; e++) {
      const value = measure(play, row(e), model, "objective");
      if (value > 0) starts.set(model, value);
    }
    return starts.get(model) ?? Infinity;
  }

  function row(epoch) {
    const at = (epoch % PIECE) * play.width;
    return pieces.get(numberOf(epoch)).subarray(at, at + play.width);
  }

  const numberOf = epoch => Math.floor(epoch / PIECE);
  return {
    start, row,
    /** The last epoch that the server trains; Infinity as long as it is not known. */
    last: () => last,
    ready: epoch => pieces.has(numberOf(epoch)),
    fetch: epoch => fetchPiece(numberOf(epoch)),
    /** Ask for the next piece when the present one is half played. */
    ahead(epoch) {
      const next = numberOf(epoch + PIECE / 2);
      if (next * PIECE <= last) fetchPiece(next).catch(() => {});
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

/**
 * Whether a model's numbers are no longer finite, or its objective is far above its start. With
 * mini-batches, which need not descend, it may rise by any amount.
 */
export function hasDiverged(play, epochs, row, model) {
  const value = measure(play, row, model, "objective");
  return !Number.isFinite(value) || play.models[model].descends && value > DIVERGED_TIMES * epochs.start(model);
}
