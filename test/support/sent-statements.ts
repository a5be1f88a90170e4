import { Client as PgClient, type QueryConfig } from 'pg';

/** A statement as it was sent to PostgreSQL. */
export type Sent = { readonly text: string; readonly values: readonly unknown[] };

let sent: Sent[] = [];
const { prototype } = PgClient;
const query = prototype.query as (...args: unknown[]) => unknown;
prototype.query = function watched(this: PgClient, ...args: unknown[]): unknown {
  const [first, values] = args;
  const config = (typeof first === 'string' ? { text: first, values } : first) as QueryConfig;
  sent.push({ text: config.text, values: (config.values as unknown[] | undefined) ?? [] });
  return query.apply(this, args);
} as typeof prototype.query;

/**
 * What this process sent while `work` went on: the product's own, word for word, so that no test looks at an old
 * copy. One after the other: it sees the statements of all.
 */
export async function statementsOf(work: () => Promise<unknown>): Promise<Sent[]> {
  sent = [];
  await work();
  return sent;
}
