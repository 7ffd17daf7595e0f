/** Scales from values to pixels, their ticks, and short numbers. */

/** Return a linear scale: `at(value)` in pixels, and `ticks(count)`. */
export function linearScale([low, high], [from, to]) {
  const size = high - low || 1;
  return {
    at: value => from + (to - from) * (value - low) / size,
    from: pixel => low + size * (pixel - from) / (to - from),
    ticks: count => linearTicks(low, high, count),
  };
}

/** Return a logarithmic scale, or a linear one if the domain is not of positive numbers. */
export function logScale([low, high], range) {
  if (!(low > 0 && Number.isFinite(high))) return linearScale([low, high], range);
  const inner = linearScale([Math.log10(low), Math.log10(high)], range);
  return {
    at: value => inner.at(Math.log10(Math.max(value, Number.MIN_VALUE))),
    from: pixel => 10 ** inner.from(pixel),
    ticks: count => logTicks(low, high, count),
  };
}

function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  if (!(rough > 0 && Number.isFinite(rough))) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(times => times * power >= rough * 0.999) * power;
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++)
    out.push(Number((k * step).toPrecision(12)));
  return out;
}

function logTicks(low, high, count) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const inside = factors => {
    const out = [];
    for (let k = first; k <= last; k++)
      for (const factor of factors) {
        const tick = Number((factor * 10 ** k).toPrecision(6));
        if (tick >= low * 0.999 && tick <= high * 1.001) out.push(tick);
      }
    return out;
  };
  const few = [[1, 2, 3, 5], [1, 2, 5], [1, 3]].map(inside).find(ticks => ticks.length <= count + 2);
  if (few && few.length > 1) return few;
  const powers = inside([1]);
  const every = Math.max(Math.ceil(powers.length / count), 1);
  const kept = powers.filter((_, k) => k % every === 0);
  return kept.length > 1 ? kept : linearTicks(low, high, count);
}

/** Format a number with a few significant digits, as the sentences do: 0.0515, 1,230, 2e-09. */
export function short(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    const [mantissa, exponent] = rounded.toExponential(digits - 1).split("e");
    return `${Number(mantissa)}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  return rounded.toLocaleString("en", { maximumFractionDigits: 12 });
}

/** Format a number with a fixed number of significant digits: 0.350, 1.10, 2.00e-09. */
export function significant(value, digits = 3) {
  const text = short(value, digits);
  if (text === "–" || Number(text) === 0 || text.includes(",")) return text;
  const [mantissa, exponent] = text.split("e");
  const places = exponent || Math.abs(value) >= 1 ? digits - mantissa.replace(/^-/, "").split(".")[0].length
    : digits - 1 - Math.floor(Math.log10(Math.abs(Number(mantissa))));
  return Number(mantissa).toFixed(Math.max(places, 0)) + (exponent ? `e${exponent}` : "");
}

/** Format a share in per cent, as the sentences do. Only 0 and 1 are written as 0.0 % and 100.0 %. */
export function percentage(share, digits = 1) {
  if (share === null || !Number.isFinite(share)) return "–";
  const rounded = (100 * share).toFixed(digits), least = 10 ** -digits;
  if (share < 1 && Number(rounded) === 100) return `> ${(100 - least).toFixed(digits)} %`;
  if (share > 0 && Number(rounded) === 0) return `< ${least.toFixed(digits)} %`;
  return `${rounded} %`;
}

/** Return a count with its noun. */
export function count(number, thing, things = `${thing}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? thing : things}`;
}

/** Return text with a capital letter at its start. */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Return the quantile of numbers that are sorted. */
export function quantile(sorted, share) {
  return sorted[Math.min(Math.floor(share * sorted.length), sorted.length - 1)];
}
