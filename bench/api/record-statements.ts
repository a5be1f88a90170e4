import { appendFileSync } from 'node:fs';
import { Client, type QueryConfig } from 'pg';

// Loaded before `api/main.ts` (`node --import`): records its statements, one line of JSON each, so that the bare server
// sends the current ones.

export type Statement = {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The name of a prepared statement. */
  readonly name?: string;
};

const file = process.env['BENCH_STATEMENTS'] ?? '';
const { prototype } = Client;
const query = prototype.query as (...args: unknown[]) => unknown;
prototype.query = function recorded(this: Client, ...args: unknown[]) {
  const [first, second] = args;
  const config = typeof first === 'string' ? { text: first, values: second } : first;
  appendFileSync(file, `${JSON.stringify(statementOf(config as QueryConfig))}\n`);
  return query.apply(this, args);
} as typeof prototype.query;

const statementOf = ({ text, values, name }: QueryConfig): Statement => ({
  text,
  values: Array.isArray(values) ? values : [],
  ...(name === undefined ? {} : { name }),
});
