export type Table = {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

/** A table of these fields of things, under the names of the API. Its times are in the zone of this machine. */
export const tableOf = <Thing>(
  things: readonly Thing[],
  fields: readonly (keyof Thing & string)[],
): Table => ({
  head: fields.map((field) => field.replaceAll('_', ' ').toUpperCase()),
  rows: things.map((thing) => fields.map((field) => cellOf(field, thing[field]))),
});

function cellOf(field: string, value: unknown): string {
  if (field.endsWith('_at') && (typeof value === 'string' || value instanceof Date)) {
    return localTime(value);
  }

  return Array.isArray(value) ? value.join(' ') : beginning(String(value ?? ''));
}

/** Columns of equal width, without trailing blanks. */
export function tableText({ head, rows }: Table): string {
  const cells = [head, ...rows].map((row) => row.map(oneLine));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One fact in a line, such as `Workspace  Demo`. Facts without a value are left out. */
export function facts(pairs: readonly (readonly [string, string | null | undefined])[]): string {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${oneLine(value ?? '')}`).join('\n');
}

/** Makes foreign text safe for one line of a terminal: no cursor movements and no bidirectional controls. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gv, ' ').trim();

/** The same for a text of several lines. */
export const safeLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gv, ' ').trimEnd())
    .join('\n');

/** @param length In code points. */
export function beginning(text: string, length = 60): string {
  const letters = [...oneLine(text)];
  return letters.length <= length ? letters.join('') : `${letters.slice(0, length).join('')}…`;
}

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A time in the zone of this machine, such as `2027-03-01 09:00`; empty for null. */
export const localTime = (time: string | Date | null | undefined, timeZone = ownZone()): string =>
  time
    ? new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone }).format(
        new Date(time),
      )
    : '';
