import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Json } from '../../../domain/json-schema.ts';
import { NetworkError } from '../../../networks/network.ts';
import { youtube } from '../../../networks/youtube/adapter.ts';
import { lossyProxy, type Target } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { fileOf, playableVideo } from '../files.ts';
import { nextStep, publish, sendStep, throughDatabase } from '../publish.ts';
import { filmParts, openYoutube } from './bench.ts';

const unit = 256 * 1024;
const uploads: Target = { method: 'PUT', path: /\/upload\/youtube\/v3\/videos\?/ };
const begins: Target = { method: 'POST', path: /\/upload\/youtube\/v3\/videos\?/ };

/** A playable video with so many bytes: what stands after its end is not looked at. */
async function videoOf(sizeBytes: number) {
  const { bytes, ...facts } = await playableVideo();
  const whole = Buffer.concat([bytes, randomBytes(sizeBytes - bytes.length)]);
  return fileOf(whole, { name: facts.name, type: facts.type });
}

/** A line that counts what goes up, and breaks off once so much of it went through. */
async function breakingLine(t: ExecutionContext, serverUrl: string, breaksAt: number) {
  const server = new URL(serverUrl);
  let sent = 0;
  let isBroken = false;
  const proxy = createServer((request, response) => {
    const { host } = server;
    const headers = { ...request.headers, host, connection: 'close' };
    const onward = httpRequest(new URL(request.url ?? '/', server), {
      method: request.method,
      headers,
    });
    onward.on('error', () => response.destroy());
    onward.on('response', (answer) => {
      const { location } = answer.headers;
      const own = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      response.writeHead(answer.statusCode ?? 502, {
        ...answer.headers,
        ...(location && { location: location.replace(server.origin, own) }),
      });
      answer.pipe(response);
    });
    request.on('data', (piece: Buffer) => {
      sent += request.method === 'PUT' ? piece.length : 0;
      if (!isBroken && sent >= breaksAt) {
        isBroken = true;
        onward.destroy();
        request.destroy();
        return;
      }
      onward.write(piece);
    });
    request.on('end', () => onward.end());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, sentBytes: () => sent };
}

// Below 5 MB one chunk is more: the protocol has none smaller.
for (const megabytes of [8, 30]) {
  test(`an upload of ${megabytes} MB that is killed at 60 % goes on there: less than 5 % goes up twice`, async (t) => {
    const { account, look } = await openYoutube(t);
    const file = await videoOf(megabytes * 1_000_000);
    const line = await breakingLine(t, account.baseUrl, file.sizeBytes * 0.6);
    const kept = new Map<string, Json>();
    // A process of its own for each try: what is shared is the ledger.
    const freshProcess = () =>
      openConnection(t, account, {
        baseUrl: line.url,
        uploadsOf: ({ key }) => kept.get(key) ?? null,
        saveUploads: async ({ key }, uploaded) => {
          t.is(line.sentBytes(), 0, 'the session is kept before the first byte');
          kept.set(key, JSON.parse(JSON.stringify(uploaded)));
        },
      });
    const parts = await filmParts(['Long'], { file });
    const prepared = throughDatabase(await youtube.prepare(freshProcess(), parts, Date.now()));
    const step = nextStep(youtube, prepared, []);

    const killed = await t.throwsAsync(sendStep(youtube, freshProcess(), step), {
      instanceOf: NetworkError,
    });
    t.like(killed, { code: 'network_unavailable', taken: 'no', hasProgressed: true });
    t.true(line.sentBytes() >= file.sizeBytes * 0.6);
    t.deepEqual(await look.uploads(), []);

    const [sent] = await sendStep(youtube, freshProcess(), step);
    t.deepEqual(
      (await look.uploads()).map(({ id }) => id),
      [sent?.remoteId],
    );
    const twice = line.sentBytes() - file.sizeBytes;
    t.true(twice < file.sizeBytes * 0.05, `${twice} of ${file.sizeBytes} bytes went up twice`);
  });
}

test('no byte of the last chunk goes up before the send', async (t) => {
  const { account, look } = await openYoutube(t);
  const file = await videoOf(4 * unit);
  const connection = openConnection(t, account);
  const parts = await filmParts(['Whole'], { file });
  const prepared = await youtube.prepare(connection, parts, Date.now());
  const step = nextStep(youtube, prepared, []);

  const files = await youtube.upload(connection, step);
  t.deepEqual(await look.uploads(), []);
  t.deepEqual(await youtube.reconcile(connection, step), { kind: 'absent' });
  await youtube.send(connection, step, files);
  t.is((await look.uploads()).length, 1);
});

test('a video of which all went up, and whose answer was lost, is not uploaded again', async (t) => {
  const { account, look } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = await filmParts(['Lost']);
  const prepared = throughDatabase(await youtube.prepare(connection, parts, Date.now()));
  const step = nextStep(youtube, prepared, []);
  proxy.plan(uploads, { kind: 'lost' });
  await t.throwsAsync(sendStep(youtube, connection, step));

  const [sent] = await sendStep(youtube, connection, step);
  t.is(sent?.remoteId, (await look.uploads())[0]?.id ?? '-');
  t.is((await look.uploads()).length, 1);
  t.is(proxy.seen.filter(({ method }) => method === 'POST').length, 1);
});

test('a session that has expired is begun anew, and what came of it is found by the mark in its tags', async (t) => {
  let nowMs = Date.now();
  const { account, look } = await openYoutube(t, { now: () => nowMs });
  const connection = openConnection(t, account);
  const [first, second] = [await filmParts(['The same']), await filmParts(['The same'])];
  const prepare = async (parts: typeof first) =>
    nextStep(youtube, await youtube.prepare(connection, parts, Date.now()), []);
  const [step, other] = [await prepare(first), await prepare(second)];
  const [sent] = await sendStep(youtube, connection, step);
  await youtube.upload(connection, other);
  nowMs += 8 * 24 * 60 * 60_000;

  t.deepEqual(await youtube.reconcile(connection, step), {
    kind: 'found',
    candidates: [[{ remoteId: sent?.remoteId, url: sent?.url }]],
  });
  t.deepEqual(await youtube.reconcile(connection, other), { kind: 'absent' });
  await sendStep(youtube, connection, other);
  t.is((await look.uploads()).length, 2);
});

test('a video whose tags leave no room for the mark is found by all that was said of it', async (t) => {
  const { account } = await openYoutube(t);
  const connection = openConnection(t, account);
  const tags = ['x'.repeat(490)];
  const parts = await filmParts(['Full'], { options: { tags } });
  const others = await filmParts(['Full'], { options: { tags: ['y'.repeat(490)] } });
  const [sent] = (await publish(youtube, connection, parts)).sent;
  await publish(youtube, connection, others);

  const forgotten = openConnection(t, account);
  const prepared = await youtube.prepare(forgotten, parts, Date.now());
  t.like(await youtube.reconcile(forgotten, nextStep(youtube, prepared, [])), {
    kind: 'found',
    candidates: { length: 1, 0: { 0: { remoteId: sent?.remoteId } } },
  });
});

test('what was uploaded before the post began is another video', async (t) => {
  const { account } = await openYoutube(t);
  const connection = openConnection(t, account);
  const parts = await filmParts(['Mine']);
  await publish(youtube, connection, parts);

  const forgotten = openConnection(t, account);
  const tomorrow = Date.now() + 24 * 60 * 60_000;
  const prepared = await youtube.prepare(forgotten, parts, tomorrow);
  const finding = await youtube.reconcile(forgotten, nextStep(youtube, prepared, []));
  t.deepEqual(finding, { kind: 'absent' });
});

test('options that change between two tries change nothing of a video that was begun', async (t) => {
  const { account, look } = await openYoutube(t);
  const connection = openConnection(t, account);
  const parts = await filmParts(['First words']);
  const prepared = await youtube.prepare(connection, parts, Date.now());
  await youtube.upload(connection, nextStep(youtube, prepared, []));

  const edited = prepared.map((part) => Object.assign(part, { options: { title: 'Another' } }));
  await sendStep(youtube, connection, nextStep(youtube, edited, []));
  t.deepEqual(
    (await look.uploads()).map(({ snippet }) => snippet?.title),
    ['A film'],
  );
});

test('an address for the upload that is not the server’s own gets no token', async (t) => {
  const { account } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  for (const location of ['http://127.0.0.1:1/upload', 'https://evil.example/', 'ftp://x/']) {
    proxy.plan(begins, { kind: 'overruled', answer: { status: 200, headers: { location } } });
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const error = await t.throwsAsync(publish(youtube, connection, await filmParts(['Hi'])));
    t.like(error, { code: 'network_unavailable', taken: 'no' });
    t.regex(error.message, /not its own/v);
  }
});

const odd: readonly { what: string; status: number; range?: string; taken: 'no' | 'unknown' }[] = [
  { what: 'it has nothing', status: 308, taken: 'no' },
  { what: 'it has all, and no video', status: 308, range: 'all', taken: 'unknown' },
  { what: 'it has more than there is', status: 308, range: 'bytes=0-99999999', taken: 'unknown' },
  { what: 'it has what makes no sense', status: 308, range: 'bytes=5-9', taken: 'unknown' },
  { what: 'it is not there', status: 404, taken: 'unknown' },
  { what: 'it is gone', status: 410, taken: 'unknown' },
  { what: 'it could not', status: 503, taken: 'unknown' },
  { what: 'it takes too long', status: 408, taken: 'unknown' },
  { what: 'the request is wrong', status: 400, taken: 'no' },
  { what: 'somebody else says no', status: 403, taken: 'no' },
];
for (const { what, status, range, taken } of odd) {
  test(`a session that says at the last chunk that ${what} (${status}) has ${taken === 'no' ? 'no video' : 'one, or none'}`, async (t) => {
    const { account, look } = await openYoutube(t);
    const proxy = await lossyProxy(t, account.baseUrl);
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const [part] = await filmParts(['Odd']);
    const size = part?.media[0]?.sizeBytes ?? 0;
    const headers = range && { range: range === 'all' ? `bytes=0-${size - 1}` : range };
    const answer = { status, body: '', ...(headers && { headers }) };
    proxy.plan(uploads, { kind: 'refused', answer });
    const prepared = await youtube.prepare(connection, part ? [part] : [], Date.now());
    const step = nextStep(youtube, prepared, []);
    t.like(await t.throwsAsync(sendStep(youtube, connection, step)), {
      name: 'NetworkError',
      code: 'network_unavailable',
      taken,
    });

    t.deepEqual(await youtube.reconcile(connection, step), { kind: 'absent' });
    await sendStep(youtube, connection, step);
    t.is((await look.uploads()).length, 1);
  });
}

test('a session that has all of a video and does not say that it made one is no proof that there is none', async (t) => {
  const { account, look } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const [part] = await filmParts(['There']);
  const size = part?.media[0]?.sizeBytes ?? 0;
  const answer = { status: 308, headers: { range: `bytes=0-${size - 1}` } };
  proxy.plan(uploads, { kind: 'overruled', answer });
  proxy.plan(uploads, { kind: 'refused', answer });
  const prepared = await youtube.prepare(connection, part ? [part] : [], Date.now());
  const step = nextStep(youtube, prepared, []);
  t.like(await t.throwsAsync(sendStep(youtube, connection, step)), { taken: 'unknown' });

  const [video] = await look.uploads();
  const finding = await youtube.reconcile(connection, step);
  t.is(finding.kind === 'found' ? finding.candidates[0]?.[0]?.remoteId : null, video?.id ?? '');
});
