import test from 'ava';
import { openAsBlob } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConnectionError, Punctual, PunctualError } from '../../sdk/src/index.ts';
import { ourDocument } from '../support/contract.ts';
import { sharedPunctual } from '../support/kit.ts';
import { lossyProxy, type Mishap } from '../support/lossy-proxy.ts';
import { picture } from '../support/media-files.ts';
import { addFakeChannel } from '../support/seed.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const shared = sharedPunctual(test);

/** A client of a new workspace, through a proxy that can lose answers. */
async function newSdk(t: Parameters<typeof lossyProxy>[0]) {
  const { workspaceId, key } = await shared.newClient();
  const proxy = await lossyProxy(t, shared.punctual.url);
  return { workspaceId, key, proxy, punctual: new Punctual({ apiKey: key, baseUrl: proxy.url }) };
}

async function allOf<Item>(list: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) {
    items.push(item);
  }

  return items;
}

const busy: Mishap = {
  kind: 'refused',
  answer: {
    status: 429,
    headers: { 'retry-after': '1', 'content-type': 'application/json' },
    body: '{"error":"Slow down.","code":"rate_limited"}',
  },
};

test('every call of the API has a method', async (t) => {
  const made = new Set<string>();
  const record: typeof fetch = async (input, init) => {
    made.add(`${init?.method} ${new URL(String(input)).pathname}`);
    return Response.json({ post: { outcome: 'published' } });
  };
  const punctual = new Punctual({ apiKey: 'k', baseUrl: 'http://127.0.0.1:1', fetch: record });
  const groups = Object.values(punctual).flatMap((one) =>
    typeof one === 'function' ? [one] : Object.values(one),
  );
  const calls = [[], ['1'], ['1', '2']];
  for (const method of groups as ((...args: unknown[]) => Promise<unknown>)[]) {
    // An argument too many is refused as an option.
    for (const args of method === punctual.media.upload ? [[new Blob(['x'])]] : calls) {
      await (async () => method(...args))().catch(() => null);
    }
  }

  const documented = Object.entries(ourDocument().paths).flatMap(([call, item]) =>
    Object.keys(item as object).map((method) => {
      const ids = ['1', '2'];
      return `${method.toUpperCase()} /api/v1${call.replaceAll(/\{\w+\}/gv, () => ids.shift()!)}`;
    }),
  );
  t.deepEqual([...made].toSorted(), documented.toSorted());
});

test('a post whose answer was lost is created once, and its end can be awaited and read from the events', async (t) => {
  const { workspaceId, proxy, punctual } = await newSdk(t);
  const channel = await addFakeChannel(shared.punctual.deps, workspaceId);
  proxy.plan({ method: 'POST', path: /\/posts$/v }, { kind: 'lost' });
  const { post } = await punctual.posts.create({
    body: 'Once',
    channel_ids: [channel],
    schedule_in_minutes: 0,
  });
  const ended = await punctual.posts.waitFor(post.id, { signal: AbortSignal.timeout(120_000) });
  t.is(ended.outcome, 'published');
  const events = await allOf(punctual.events.list({ post_id: post.id }));
  const published = events.flatMap(
    (event) => (event.type === 'post.published' ? [event.data.post.id] : []), // Typed by the event's name.
  );
  t.deepEqual(published, [post.id]);
  const unsendable = punctual.posts.create({ body: 'x' }, { idempotencyKey: 'ключ' });
  await t.throwsAsync(unsendable, { instanceOf: TypeError });
  t.is((await punctual.posts.list()).posts.length, 1);

  const { post: draft } = await punctual.posts.create({ body: 'A draft' });
  await t.throwsAsync(punctual.posts.waitFor(draft.id), { message: /is a draft/v });
});

test('a call that cannot be sent again fails and says that it may have happened', async (t) => {
  const { proxy, punctual } = await newSdk(t);
  proxy.plan({ method: 'POST', path: /\/cancel$/v }, { kind: 'lost' });
  const { post } = await punctual.posts.create({ body: 'A draft' });
  const error = await t.throwsAsync(punctual.posts.cancel(post.id), {
    instanceOf: ConnectionError,
  });
  t.true(error.mayHaveHappened);
  t.is(proxy.seen.filter(({ path: at }) => at.endsWith('/cancel')).length, 1);
});

test('a call waits for a rate limit, and gives up after two repeats', async (t) => {
  const { proxy, punctual } = await newSdk(t);
  const me = { method: 'GET', path: /\/me$/v };
  proxy.plan(me, busy);
  t.is((await punctual.me()).workspace.name, 'Test');
  for (let n = 0; n < 3; n += 1) {
    proxy.plan(me, busy);
  }

  const error = await t.throwsAsync(punctual.me(), { instanceOf: PunctualError });
  t.like(error, { code: 'rate_limited', status: 429, retryAfterS: 1, message: 'Slow down.' });
  t.is(proxy.seen.length, 5);
});

test('a call that gets no answer in time, or that its caller ends, fails', async (t) => {
  const { proxy, punctual } = await newSdk(t);
  const held: Mishap = { kind: 'held', onReceived: () => undefined };
  const me = { method: 'GET', path: /\/me$/v };
  proxy.plan(me, held);
  proxy.plan(me, held);
  proxy.plan(me, held);
  const late = await t.throwsAsync(punctual.me({ timeoutMs: 300 }), {
    instanceOf: ConnectionError,
  });
  t.is(late.message, `GET ${proxy.url}/api/v1/me got no answer in time.`);
  t.false(late.mayHaveHappened);

  proxy.plan(me, held);
  const ending = new AbortController();
  const ended = punctual.me({ signal: ending.signal });
  ending.abort(new Error('Enough.'));
  await t.throwsAsync(ended, { message: 'Enough.' });
});

test('a key can be given as it is in the header', async (t) => {
  const { key, proxy } = await newSdk(t);
  const punctual = new Punctual({ apiKey: `Bearer ${key}`, baseUrl: proxy.url });
  t.is((await punctual.me()).workspace.name, 'Test');
});

test("a refusal has the API's sentence, code, fields and request id", async (t) => {
  const { punctual } = await newSdk(t);
  const error = await t.throwsAsync(punctual.posts.create({ body: 'x', channel_ids: ['?'] }), {
    instanceOf: PunctualError,
  });
  t.is(error.status, 400);
  t.is(error.code, 'invalid_channel_ids');
  t.true(error.message.length > 20);
  t.truthy(error.requestId);
  await t.throwsAsync(async () => punctual.posts.get('../me'), { message: /needs an id/v });
  for (const [apiKey, baseUrl] of [
    ['k', 'punctual.example'],
    ['k', 'localhost:3000'],
    ['svc_live_…', 'http://localhost:3000'],
  ] as const) {
    t.throws(() => new Punctual({ apiKey, baseUrl }), { message: /apiKey.*baseUrl/v });
  }
});

test('a time that is no number, an unknown option and a source that is no file are refused before the call', async (t) => {
  const { proxy, punctual } = await newSdk(t);
  const { posts, media } = punctual;
  const wrong = (value: unknown) => value as never;
  for (const [call, message] of [
    [() => posts.create({ body: 'x', schedule_in_minutes: NaN }), /schedule_in_minutes.*NaN/v],
    [() => posts.create({ body: 'x', scheduled_at: wrong(new Date('soon')) }), /scheduled_at/v],
    [() => posts.create({ body: 'x' }, wrong({ idempotency_key: 'k' })), /option idempotency_key/v],
    [() => posts.retry('1', wrong({ channel_ids: ['2'] })), /option channel_ids/v],
    [() => media.upload(wrong(Buffer.from('x'))), /a path, a Blob or a web stream/v],
  ] as const) {
    await t.throwsAsync(async () => call(), { instanceOf: TypeError, message });
  }

  t.is(proxy.seen.length, 0);
  const metadata = Object.assign(Object.create(null), { from: 'x' }); // As the groups of a RegExp.
  t.deepEqual((await posts.create({ body: 'x', metadata })).post.metadata, { from: 'x' });
});

test('a list gives a page when awaited and everything when iterated', async (t) => {
  const { punctual } = await newSdk(t);
  for (const body of ['a', 'b', 'c']) {
    await punctual.posts.create({ body });
  }

  const list = punctual.posts.list({ limit: 2, sort: 'created_at', order: 'asc' });
  t.is((await list).posts.map(({ body }) => body).join(), 'a,b');
  t.is((await allOf(list)).map(({ body }) => body).join(), 'a,b,c');
  t.is((await allOf(punctual.events.list({ limit: 1 }))).length, 0);
  t.deepEqual(await list.catch(() => null), await list.finally(() => null));
  const csv = punctual.analytics.posts({ format: 'csv' });
  await t.throwsAsync(csv, { instanceOf: ConnectionError, message: /got no JSON\.$/v });
});

test('a file is uploaded from a path, a Blob and a stream', async (t) => {
  const { punctual } = await newSdk(t);
  const file = path.join(await temporaryFolder(t), 'dot.png');
  await writeFile(file, await picture('png'));
  const blob = await openAsBlob(file);
  const fields = { name: 'Ü "1".png', alt_text: 'Ein Punkt\r\nund mehr' };
  const answers = [
    await punctual.media.upload(file),
    await punctual.media.upload(blob, fields),
    await punctual.media.upload(blob.stream(), fields),
  ];
  t.deepEqual(
    answers.map(({ media: { name, type, alt_text: alt } }) => [name, type, alt]),
    [
      ['dot.png', 'image/png', null],
      ['Ü "1".png', 'image/png', 'Ein Punkt\nund mehr'],
      ['Ü "1".png', 'image/png', 'Ein Punkt\nund mehr'],
    ],
  );
  await t.throwsAsync(punctual.media.upload('nowhere.png'), { message: /nowhere\.png/v });
});

test('a folder, and a file that changes while it is sent, fail in the call and not in the process', async (t) => {
  const { punctual } = await newSdk(t);
  const folder = await temporaryFolder(t);
  const file = path.join(folder, 'dot.png');
  await writeFile(file, await picture('png'));
  const changed = await openAsBlob(file);
  await appendFile(file, 'x');
  await t.throwsAsync(punctual.media.upload(folder), { message: /cannot be opened\.$/v });
  await t.throwsAsync(punctual.media.upload(changed), { instanceOf: ConnectionError });
});
