import { randomBytes } from 'node:crypto';
import test from 'ava';
import { newClient } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { runAdmin } from './run-admin.ts';

test('without its plan a workspace is answered 402 at once, and with a new one it goes on', async (t) => {
  const punctual = await startApi(t);
  const settings = {
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: randomBytes(32).toString('hex'),
  };
  const [client, other] = [await newClient(punctual), await newClient(punctual)];
  const id = client.workspaceId;
  t.is((await client.post('/posts', { body: 'x' })).status, 201);

  const ended = await runAdmin(['workspace', 'plan', id, 'none'], settings);
  t.deepEqual([ended.code, ended.stderr], [0, '']);
  t.is(ended.stdout, `Workspace ${id} has no plan\n`);
  const refused = await client.post('/posts', { body: 'x' });
  t.is(refused.status, 402);
  t.is(refused.body.code, 'plan_required');
  t.is((await client.get('/me')).status, 200);
  t.is((await other.post('/posts', { body: 'x' })).status, 201);
  const listed = await runAdmin(['workspace', 'list'], settings);
  t.regex(listed.stdout, new RegExp(`^${id} {2}0 channels {2}no plan {2}Test$`, 'mv'));

  const begun = await runAdmin(['workspace', 'plan', id, 'gold', '--json'], settings);
  t.deepEqual(JSON.parse(begun.stdout), { workspace_id: id, plan: 'gold' });
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
  const { workspaces } = JSON.parse(
    (await runAdmin(['workspace', 'list', '--json'], settings)).stdout,
  );
  t.deepEqual(
    workspaces.map((one: { plan: string }) => one.plan),
    ['gold', 'standard'],
  );
});

test('a plan that is no word and a workspace that is not there are refused, and nothing changes', async (t) => {
  const punctual = await startApi(t);
  const settings = {
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: randomBytes(32).toString('hex'),
  };
  const { workspaceId: id } = await newClient(punctual);
  const refused: [string[], number, RegExp][] = [
    [[id, 'Gold'], 1, /A plan is a word/v],
    [[id, ''], 1, /A plan is a word/v],
    [[id, 'None'], 1, /A plan is a word/v],
    [[id, 'x'.repeat(51)], 1, /A plan is a word/v],
    [[crypto.randomUUID(), 'gold'], 1, /no workspace/v],
    [['nope', 'none'], 1, /no workspace "nope"/v],
    [[id], 2, /PLAN\|none is missing/v],
    [[id, 'gold', 'silver'], 2, /one word too many/v],
  ];
  for (const [words, expected, reason] of refused) {
    const { code, stdout, stderr } = await runAdmin(['workspace', 'plan', ...words], settings);
    t.is(code, expected, words.join(' '));
    t.is(stdout, '');
    t.regex(stderr, reason);
  }

  const [row] = await punctual.orm.em
    .fork()
    .execute<{ plan: string }[]>('select plan from workspaces');
  t.is(row?.plan, 'standard');
});
