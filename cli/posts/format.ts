/** What strangers wrote, made fit for one line of a terminal: nothing in it moves the cursor or turns the line around. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gv, ' ').trim();

/** The beginning of a text. @param length In characters as people count them, roughly. */
export function beginning(text: string, length = 80): string {
  const letters = [...oneLine(text)];
  return letters.length <= length ? letters.join('') : `${letters.slice(0, length).join('')}…`;
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** Roughly how long: `3 h`, `12 min`. @param ms Milliseconds, also below 0. */
function roughly(ms: number): string {
  const length = Math.abs(ms);
  const [unit, size] = units.find(([, least]) => length >= least) ?? ['s', 1000];
  return `${Math.floor(length / size)} ${unit}`;
}

/** How far a moment is from now: `3 h ago`, `in 12 min`. @param ms From now until then, in milliseconds. */
export const distance = (ms: number): string =>
  ms > 0 ? `in ${roughly(ms)}` : `${roughly(ms)} ago`;

export const instant = (at: Date | null): string | null => at?.toISOString() ?? null;
