import { Client as PgClient, type QueryConfig } from 'pg';

/** A statement as it was sent to PostgreSQL. */
export type Sent = {
  readonly text: string;
  readonly values: readonly unknown[];
  /** PostgreSQL plans it once per connection. */
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
 * The statements that this process sends during `work`, so that tests check the product's current text. Calls must not
 * overlap: each would also record the statements of the others.
 */
export async function statementsOf(work: () => Promise<unknown>): Promise<Sent[]> {
  sent = [];
  await work();
  return sent;
}
