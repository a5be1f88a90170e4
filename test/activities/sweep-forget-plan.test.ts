import test from 'ava';
import { forgetOld } from '../../activities/sweep/forget-old.ts';
import { planOf, storeMany } from '../api/webhooks/query-plan.ts';
import { watchStatements } from '../db/watch-statements.ts';
import { newClient } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';

// The only test of its file: it looks at all statements of its process.
test('what is old is found by indexes, in a database with much that is not', async (t) => {
  const statementsOf = watchStatements();
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  await client.post('/webhooks', { url: 'https://8.8.8.8/hook', events: ['post.failed'] });
  await storeMany(punctual.orm, client.workspaceId, 20_000);
  const soon = new Date('2026-01-31T02:00:00.000Z'); // By then 119 of them are old.

  const sent = await statementsOf(() => forgetOld({ ...punctual.deps, now: () => soon }));

  const deletes = sent.filter(({ text }) => text.includes('delete from'));
  t.is(deletes.length, 3);
  const [, deliveries = '', events = ''] = await Promise.all(
    deletes.map(({ text }) => planOf(punctual.orm, { sql: text, values: [] })),
  );
  t.regex(deliveries, /Index (?:Only )?Scan using deliveries_ended/v);
  t.regex(events, /Index (?:Only )?Scan using events_created_at_index/v);
  t.false(`${deliveries} ${events}`.includes('Seq Scan'), `${deliveries}\n${events}`);
});
