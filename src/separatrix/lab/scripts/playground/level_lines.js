/** Lines on which numbers at the places of a grid have the value 0: marching squares. */

/**
 * Call `line(x1, y1, x2, y2)` for the parts of the lines, in columns and rows; `at(column, row)` is
 * a number of the grid.
 */
export function levelLines(at, columns, rows, line) {
  for (let j = 0; j + 1 < rows; j++)
    for (let i = 0; i + 1 < columns; i++) {
      const a = at(i, j), b = at(i + 1, j), c = at(i + 1, j + 1), d = at(i, j + 1);
      const above = (a > 0) + (b > 0) + (c > 0) + (d > 0);
      if (above === 0 || above === 4) continue;
      const ends = [];
      if (a > 0 !== b > 0) ends.push(i + a / (a - b), j);
      if (b > 0 !== c > 0) ends.push(i + 1, j + b / (b - c));
      if (c > 0 !== d > 0) ends.push(i + d / (d - c), j + 1);
      if (d > 0 !== a > 0) ends.push(i, j + a / (a - d));
      for (let k = 0; k + 3 < ends.length; k += 4) line(ends[k], ends[k + 1], ends[k + 2], ends[k + 3]);
    }
}
