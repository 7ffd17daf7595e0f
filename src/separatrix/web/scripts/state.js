/**
 * What the reader chose, kept in the address after "#", so that a link shows the same picture.
 *
 * Values are texts. Values that equal their default are not in the address.
 */

/** Return a state with `get`, `set`, `subscribe`, and a pointer that is not in the address. */
export function createState(defaults) {
  const listeners = [];
  const pointed = [];
  let values = { ...defaults, ...fromAddress(defaults) };

  function change(next) {
    const changed = Object.keys(next).filter(key => next[key] !== values[key]);
    if (!changed.length) return;
    values = { ...values, ...next };
    for (const listener of listeners) listener(changed);
  }

  function set(patch) {
    change(patch);
    const chosen = Object.entries(values).filter(([key, value]) => value !== defaults[key]);
    const hash = new URLSearchParams(chosen).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  addEventListener("hashchange", () => change({ ...defaults, ...fromAddress(defaults) }));
  return {
    get: key => values[key],
    set,
    subscribe: listener => listeners.push(listener),
    /** Point at a configuration by its number, or at none with null. */
    point: number => { for (const listener of pointed) listener(number); },
    onPoint: listener => pointed.push(listener),
    /** The numbers of the chosen configurations. */
    chosen: () => values.select.split(",").filter(Boolean).map(Number),
    toggle(number) {
      const now = this.chosen();
      const next = now.includes(number) ? now.filter(one => one !== number) : [...now, number];
      set({ select: next.join(",") });
    },
  };
}

function fromAddress(defaults) {
  const found = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries([...found].filter(([key]) => Object.hasOwn(defaults, key)));
}
