import { createOrm } from '../../db/orm.ts';
import { relayOnce } from '../../worker/relay.ts';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { storeChannel, storeUnsynced } from '../support/seed.ts';
import { testLog } from '../support/temporal.ts';

const test = needs('temporal');
const api = sharedApi(test, { patientTemporal: true });
const dueAt = new Date(Date.now() + 24 * 3_600_000).toISOString();

test('posts that get no database connection are not logged as refused by Temporal, and are synced by the next relay', async (t) => {
  const { punctual } = api;
  const { workspaceId } = await api.newClient();
  await storeChannel(punctual, workspaceId);
  for (let stored = 0; stored < 2; stored += 1) {
    await storeUnsynced(punctual, workspaceId, dueAt);
  }

  // The relay's own transaction holds the only connection.
  const orm = createOrm(punctual.databaseUrl, { poolSize: 1, connectTimeoutMs: 200 });
  t.teardown(() => orm.close());
  const lines: string[] = [];
  const log = testLog.child({});
  log.warn = (_what: object, line?: string) => void lines.push(line ?? '');

  t.is(await relayOnce({ orm, client: punctual.temporal.client, log }), 0);
  t.deepEqual(lines, ['the database did not answer: this post and others are synced later']);

  await relayOnce({ ...punctual, client: punctual.temporal.client, log });
  const rows = await punctual.orm.em
    .fork()
    .execute('select 1 from posts where workspace_id = ? and synced_revision = revision', [
      workspaceId,
    ]);
  t.is(rows.length, 2);
});
