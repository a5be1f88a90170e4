import { Client, type QueryConfig } from 'pg';

/** A statement as it was sent to PostgreSQL. */
export type Sent = { readonly text: string; readonly values: readonly unknown[] };

/**
 * Looks at every statement that this process sends on connections that are opened from now on, whoever sends it: the
 * product's own, word for word, so that a test cannot look at an old copy.
 *
 * @returns a function that tells what was sent while `work` went on.
 */
export function watchStatements(): (work: () => Promise<unknown>) => Promise<Sent[]> {
  const { prototype } = Client;
  const query = prototype.query as (...args: unknown[]) => unknown;
  let sent: Sent[] = [];
  prototype.query = function watched(this: Client, ...args: unknown[]): unknown {
    const [first, values] = args;
    const config = (typeof first === 'string' ? { text: first, values } : first) as QueryConfig;
    sent.push({ text: config.text, values: (config.values as unknown[] | undefined) ?? [] });
    return query.apply(this, args);
  } as typeof prototype.query;
  return async (work) => {
    sent = [];
    await work();
    return sent;
  };
}
