/** Candidates or models as the table and the map use them: rows with cells, from a page's dictionary. */

/** Return the rows of a page; `words` has `thing`, `head` and `example`, `named` shows every name. */
export function readRows(page, words) {
  const parameters = page.parameters || [];
  const rows = page.rows.map(row => ({
    stopped: "", problem: "", words: [], values: [], stable_rate: null, ...row,
    measure: () => row.score ?? null,
  }));
  const byNumber = new Map(rows.map(row => [row.number, row]));
  return {
    page: { ...page, parameters }, runs: rows, byNumber, ...words,
    best: byNumber.get(page.best) || null,
    merit: row => row.merit ?? Infinity,
    columns: page.columns.map(cellColumn),
    exported: [
      { name: words.head, get: row => row.name },
      ...page.columns.map((column, k) => ({ name: column.key, get: row => row.cells[k] })),
      { name: "mark", get: row => row.kind },
    ],
  };
}

function cellColumn(column, k) {
  return {
    numeric: true, extra: false, names: [column.label], ...column,
    accuracy: Boolean(column.percent),
    get: row => row.cells[k],
    text: row => row.texts[k],
  };
}
