/** Where a script says what goes on. */
export type Say = (line: string) => void;

/** Seconds between two signs of life while something long goes on. */
const everySeconds = 15;

/** Says what is being waited for: at once, and again from time to time with the seconds it has taken. */
export async function withProgress<T>(say: Say, title: string, work: () => Promise<T>): Promise<T> {
  const startedMs = Date.now();
  say(`${title} ...`);
  const ticker = setInterval(() => {
    say(`${title} ... ${Math.round((Date.now() - startedMs) / 1000)} s`);
  }, everySeconds * 1000);
  try {
    return await work();
  } finally {
    clearInterval(ticker);
  }
}

/** Its message says all that a person needs to know, so it is shown without a stack. */
export class PlainError extends Error {
  override readonly name: string = 'PlainError';
}
