/** A small curve in a table. */

import { svg } from "./dom.js";

const WIDTH = 120, HEIGHT = 28, EDGE = 3;

/** Return a picture of values in equal steps, on a logarithmic scale if all are positive. */
export function sparkline(values, description) {
  const picture = svg("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH,
    height: HEIGHT, role: "img", "aria-label": description });
  if (values.length < 2) return picture;
  const shown = values.every(value => value > 0) ? values.map(Math.log) : values;
  const low = Math.min(...shown), size = Math.max(...shown) - low || 1;
  const points = shown.map((value, k) => {
    const x = EDGE + (WIDTH - 2 * EDGE) * k / (shown.length - 1);
    return `${x.toFixed(1)} ${(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value - low) / size).toFixed(1)}`;
  });
  picture.append(svg("path", { class: "line best", d: `M${points.join("L")}` }));
  return picture;
}
