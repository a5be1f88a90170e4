/** Prints what was found beside its target. @returns whether it is met. */
export function verdict(say: (line: string) => void, what: string, met: boolean): boolean {
  say(`${met ? 'met   ' : 'MISSED'}  ${what}`);
  return met;
}
