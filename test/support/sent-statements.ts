import { Client as PgClient, type QueryConfig } from 'pg';

/** A statement as it was sent to PostgreSQL. */
export type Sent = {
  readonly text: string;
  readonly values: readonly unknown[];
  /** PostgreSQL plans it once for a connection. */
  readonly isPrepared: boolean;
};

let sent: Sent[] = [];
const { prototype } = PgClient;
const query = prototype.query as (...args: unknown[]) => unknown;
prototype.query = function watched(this: PgClient, ...args: unknown[]): unknown {
  const [first, given] = args;
  const config = (
    typeof first === 'string' ? { text: first, values: given } : first
  ) as QueryConfig;
  const values = (config.values as unknown[] | undefined) ?? [];
  sent.push({ text: config.text, values, isPrepared: config.name !== undefined });
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
