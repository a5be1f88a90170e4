import { createTurns } from '../../../services/turns.ts';
import { createApiKey } from '../../../cli/admin/workspaces.ts';
import { clientFor } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { holdLock } from '../../support/hold-lock.ts';
import { noTemporal } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { storeMedia } from '../../support/seed-media.ts';
import { storeChannel } from '../../support/seed.ts';
import { poll } from '../../support/poll.ts';
import { answerTo, beginUpload, write } from '../media/support/raw-upload.ts';

const test = needs('postgres');
const usual = sharedApi(test, { temporalEnv: noTemporal });
const perKey = sharedApi(test, { temporalEnv: noTemporal, mostPerKey: 3 });

for (const [path, most] of [
  ['/api/v1/posts/validate', 2],
  ['/mcp', 1],
] as const) {
  test(`a large body for ${path} beyond ${most} of a workspace is refused before it is read, while others are served`, async (t) => {
    const [client, other] = [await usual.newClient(), await usual.newClient()];
    const thread = Array.from({ length: 25 }, () => 'नमस्ते '.repeat(1500));
    for (const length of [{ 'content-length': 400_000 }, {}]) {
      const headers = { 'content-type': 'application/json', ...length };
      const calls = Array.from({ length: most + 1 }, () =>
        beginUpload(t, usual.punctual, client, headers, path),
      );
      const answers = calls.map(answerTo);
      await Promise.all(calls.map((call) => write(call, Buffer.alloc(70_000, ' '))));
      const { status, body } = await Promise.race(answers);
      t.is(status, 429);
      t.regex(body.error, /^Too many requests of this workspace with a large/v);
      t.is((await other.post('/posts/validate', { thread })).status, 200);
      for (const call of calls) {
        call.destroy();
      }

      await poll(
        async () => (await client.post('/posts/validate', { thread })).status,
        (next) => next === 200,
      );
    }
  });
}

test('calls under way are refused beyond those of ten keys of a workspace', async (t) => {
  const { url, orm } = perKey.punctual;
  const { workspaceId } = await perKey.newClient();
  const lock = await holdLock(t, orm, 'lock table channels');
  const keys = Array.from({ length: 11 }, () => createApiKey(orm.em.fork(), workspaceId));
  const calls = (await Promise.all(keys)).flatMap((key) =>
    Array.from({ length: 3 }, () => clientFor(url, workspaceId, key).get('/channels')),
  );
  t.is((await Promise.race(calls)).status, 429);
  lock.release();
  await Promise.all(calls);
});

const lists = ['/posts', '/media', '/analytics', '/events', '/events?wait=1', '/channels'];

test('the changes, validations and lists of a workspace leave connections to the database for others, and a call that waits is refused if its key is revoked', async (t) => {
  const [client, other] = [await usual.newClient(), await usual.newClient()];
  const channel = await storeChannel(usual.punctual, client.workspaceId);
  const { id } = (await client.post('/posts', { body: 'x' })).body.post;
  const key = (await client.get('/me')).body.key.id;
  const file = await storeMedia(usual.punctual, client.workspaceId);
  const hook = { url: 'https://8.8.8.8/', events: ['post.failed'] };
  const endpoint = (await client.post('/webhooks', hook)).body.webhook;
  const limited = { name: 'Revoked', scopes: ['posts:read', 'posts:write'] };
  const { id: ended, key: secret } = (await client.post('/keys', limited)).body.key;
  const late = clientFor(usual.punctual.url, client.workspaceId, secret);
  const lock = await holdLock(
    t,
    usual.punctual.orm,
    'lock table post_channels, media_files, events, post_metrics, channels, deliveries, webhook_endpoints',
  );
  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 60 };
  const calls = Array.from({ length: 7 }, () => [
    client.patch(`/posts/${id}`, { body: 'y' }),
    client.post('/posts', post),
    client.post('/posts/validate', post),
    ...lists.map((path) => client.get(path)),
    client.get(`/webhooks/${endpoint.id}`),
    client.patch(`/media/${file}`, { alt_text: 'A cat' }),
    client.patch(`/channels/${channel}`, { options: null }),
    client.patch(`/webhooks/${endpoint.id}`, { enabled: true }),
  ]).flat();
  await poll(
    () => usual.punctual.callsOf(key),
    ({ requests }) => requests === 4 + calls.length,
  );
  for (let read = 0; read < 20; read += 1) {
    t.is((await other.get('/audit')).status, 200);
  }

  await poll(lock.waiting, (count) => count === 2);
  const begun = late.get('/posts?include=channels');
  await poll(lock.waiting, (count) => count === 3);
  const refused = [late.get('/posts?include=channels'), late.post('/posts/validate', post)];
  await poll(
    () => usual.punctual.callsOf(ended),
    ({ requests }) => requests === 1 + refused.length,
  );
  const asked = performance.now();
  const revoke = 'update api_keys set revoked_at = now() where id = ?';
  await usual.punctual.orm.em.fork().execute(revoke, [ended]);
  // The rights of a key are read again after a wait of 0.1 s.
  await poll(
    () => Promise.resolve(performance.now() - asked),
    (ms) => ms > 200,
  );
  lock.release();
  t.deepEqual(
    (await Promise.all(refused)).map(({ status }) => status),
    [401, 401],
  );
  t.is((await begun).status, 200);
  t.true((await Promise.all(calls)).every(({ status }) => status < 300));
});

test('a call that waits for others of its workspace ends when its client hangs up, and changes nothing', async (t) => {
  const inTurn = createTurns({ all: 1, each: 1 });
  const [first, client] = [Promise.withResolvers<void>(), new AbortController()];
  const caller = { keyId: 'k', workspaceId: 'w' };
  const answer = { sent: Promise.resolve(), disconnect: () => undefined };
  const done: string[] = [];
  const work = (name: string) => () => Promise.resolve(void done.push(name));
  const running = inTurn(caller, new AbortController().signal, () => first.promise, answer);
  const waiting = inTurn(caller, client.signal, work('waiting'), answer);
  client.abort(new Error('The client hung up.'));
  await t.throwsAsync(waiting, { message: 'The client hung up.' });
  first.resolve();
  await running;
  await inTurn(caller, new AbortController().signal, work('later'), answer);
  t.deepEqual(done, ['later']);
});

test('unread answers of many workspaces never fill the memory, and the next ones come after seconds', async (t) => {
  const inTurn = createTurns({ all: 3, each: 1 });
  const counts = { begun: 0, ended: 0, most: 0 };
  const calls = Array.from({ length: 24 }, (_, n) => {
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    const disconnect = () => {
      counts.ended += 1;
      resolve();
    };
    const work = () => {
      counts.begun += 1;
      counts.most = Math.max(counts.most, counts.begun - counts.ended);
      return Promise.resolve();
    };
    const caller = { keyId: `${n}`, workspaceId: `${n % 8}` };
    return inTurn(caller, new AbortController().signal, work, { sent, disconnect });
  });
  await Promise.all(calls);
  t.deepEqual(counts, { begun: 24, ended: 4, most: 20 });
});

test('a call of a key comes after seconds although clients with the same key read nothing of their answers', async (t) => {
  const inTurn = createTurns({ all: 3, each: 2 });
  let ended = 0;
  const calls = Array.from({ length: 3 }, () => {
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    const disconnect = () => {
      ended += 1;
      resolve();
    };
    const caller = { keyId: 'k', workspaceId: 'w' };
    const { signal } = new AbortController();
    return inTurn(caller, signal, () => Promise.resolve(), { sent, disconnect });
  });
  await Promise.all(calls);
  t.is(ended, 1);
});

test('a key with too many requests under way gets 429 until some have ended, while other keys are served', async (t) => {
  const [client, other] = [await perKey.newClient(), await perKey.newClient()];
  const key = (await client.get('/me')).body.key.id;
  const uploads = Array.from({ length: 3 }, () => beginUpload(t, perKey.punctual, client));
  await poll(
    () => perKey.punctual.callsOf(key),
    ({ requests }) => requests === 1 + uploads.length,
  );
  const refused = await client.get('/me');
  t.is(refused.status, 429);
  t.like(refused.body, { code: 'rate_limited' });
  t.regex(refused.body.error, /^Too many requests with this API key are under way/v);
  t.regex(refused.headers.get('retry-after') ?? '', /^\d+$/v);
  t.is((await other.get('/me')).status, 200);

  for (const each of uploads) {
    each.destroy();
  }

  const taken = await poll(
    () => client.get('/me'),
    ({ status }) => status === 200,
  );
  t.is(taken.status, 200);
});
