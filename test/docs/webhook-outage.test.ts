import { readFileSync } from 'node:fs';
import test from 'ava';
import { attemptDelivery } from '../../activities/attempt-delivery/attempt-delivery.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { newClient, type Client } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

/** What the page has operators type into psql, in order: look, enable, replay. */
const statements = [...page.matchAll(/psql "\$DATABASE_URL" -c "(?<sql>[^"]+)"/gv)].map(
  ({ groups }) => groups?.['sql'] ?? '',
);
const began = new Date('2026-05-01T10:00:00.000Z');

test('after an outage of our way out, the statements of the page enable what it disabled and send what it failed', async (t) => {
  const receiver = await startReceiver(t);
  const punctual = await startApi(t, { allowPorts: [receiver.port] });
  const em = punctual.orm.em.fork();
  const [first, second] = [await newClient(punctual), await newClient(punctual)];
  const register = async (client: Client): Promise<string> =>
    (await client.post('/webhooks', { url: receiver.url, events: ['post.failed'] })).body.webhook
      .id;
  const endpoints = [await register(first), await register(second)];
  const before = new Date(began.getTime() - 1);
  const old = await storeDelivery(punctual, first.workspaceId, 'failed', before);
  const failed = await storeDelivery(punctual, first.workspaceId, 'failed', began);
  const delivered = await storeDelivery(punctual, first.workspaceId, 'delivered', began);
  const requested = await storeDelivery(punctual, second.workspaceId, 'failed', began);
  const disable = `update webhook_endpoints set failing_since = ?, disabled_at = ?, disabled_reason = ? where id = ?`;
  await em.execute(disable, [before, began, 'failing', endpoints[0]]);
  await em.execute(disable, [null, began, 'requested', endpoints[1]]);
  const [look = '', enable = '', replay = ''] = statements;
  t.is(statements.length, 3);

  t.is((await em.execute<unknown[]>(look)).length, 2);
  for (const sql of [enable, replay]) {
    t.true(sql.includes(`'2027-03-01T08:00:00Z'`));
    await em.execute(sql.replaceAll('2027-03-01T08:00:00Z', began.toISOString()));
  }

  const shown = async (client: Client, index: number) =>
    (await client.get(`/webhooks/${endpoints[index]}`)).body.webhook;
  t.like(await shown(first, 0), { enabled: true, disabled_reason: null, failing_since: null });
  t.like(await shown(second, 1), { enabled: false, disabled_reason: 'requested' });
  const rows = await em.execute<object[]>(
    `select id, status, synced_round < round as untold, attempts_before from deliveries`,
  );
  const row = (id: string) => rows.find((one) => 'id' in one && one.id === id);
  t.like(row(failed), { status: 'pending', untold: true, attempts_before: 6 });
  for (const [id, status] of [
    [old, 'failed'],
    [delivered, 'delivered'],
    [requested, 'failed'],
  ] as const) {
    t.like(row(id), { status, untold: false });
  }

  const request = { workspaceId: first.workspaceId, deliveryId: failed };
  t.is(await attemptDelivery(punctual.deps, request), 'delivered');
  t.is(receiver.received.length, 1);
});

test('what the page quotes of the log of webhooks is what the worker says', (t) => {
  const read = (file: string): string =>
    readFileSync(new URL(`../../activities/attempt-delivery/${file}.ts`, import.meta.url), 'utf8');
  const said = `${read('disable-endpoint')}${read('open-secret')}`;
  for (const quoted of [
    'this webhook endpoint took nothing for five days: it is disabled until its owner enables it',
    "this delivery waits: its endpoint's signing secret cannot be opened with this SECRET_KEY",
  ]) {
    t.true(page.includes(`\`${quoted}\``), quoted);
    t.true(said.includes(quoted), quoted);
  }
});
