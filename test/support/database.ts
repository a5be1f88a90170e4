import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { createOrm, type Orm } from '../../db/orm.ts';
import { env } from './env.ts';

/** Creates an empty database for the test and drops it when the test ends. @param template May have options after it. */
export const emptyDatabase = (t: ExecutionContext, template = 'template1'): Promise<string> =>
  makeDatabase(t, template);

async function makeDatabase(t: ExecutionContext, template: string): Promise<string> {
  const server = env('PUNCTUAL_TEST_DATABASE_URL');
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  await execute(server, `create database ${name} template ${template}`);
  t.teardown(() => execute(server, `drop database ${name} with (force)`));

  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Executes statements, separated by `;`, on a connection of their own. */
export async function execute(url: string, statements: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(statements);
  } finally {
    await client.end();
  }
}

/**
 * Timeouts for connections that the tests of a file share. The product's own 3 s and 20 s would fail when many tests
 * run on a slow machine; the tests of database outages cover them.
 */
export const patience = { connectTimeoutMs: 100_000, queryTimeoutMs: 100_000 };

/** A migrated database for the test. */
export async function freshDatabase(t: ExecutionContext): Promise<{ url: string; orm: Orm }> {
  const url = await makeDatabase(t, env('PUNCTUAL_TEST_TEMPLATE'));
  const orm = createOrm(url, { poolSize: 5, ...patience });
  t.teardown(() => orm.close());
  return { url, orm };
}
