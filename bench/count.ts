/** A number of something, as an option gives it. @throws RangeError for what is none. */
export function count(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) {
    throw new RangeError(`"${text}" is no number of something.`);
  }

  return number;
}
