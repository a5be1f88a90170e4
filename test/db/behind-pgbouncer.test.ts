import test from 'ava';
import { needs } from '../support/needs.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';

// Runs the tests of claims, the relay and the ledger through a connection pooler.
if (needs('pgbouncer', 'temporal') === test) {
  process.env['PUNCTUAL_TEST_DATABASE_URL'] = await startPgbouncer(20);
  await import('./claims.test.ts');
  await import('../temporal/relay.test.ts');
  await import('../activities/stopped-workers.test.ts');
} else {
  needs('pgbouncer', 'temporal')('claims, the relay and the ledger work behind PgBouncer', (t) =>
    t.pass(),
  );
}
