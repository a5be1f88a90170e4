/** Prints a line of progress. */
export type Say = (line: string) => void;

/** Seconds between progress lines of a long step. */
const everySeconds = 15;

/** Prints what the script is waiting for: immediately, and then regularly with the elapsed seconds. */
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

/** An error whose message is complete for the user, shown without a stack. */
export class PlainError extends Error {
  override readonly name: string = 'PlainError';
}
