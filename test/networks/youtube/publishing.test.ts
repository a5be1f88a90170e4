import test, { type ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '../../../domain/json-schema.ts';
import { NetworkError } from '../../../networks/network.ts';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import { lossyProxy, type Target } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { fileOf, playableVideo } from '../files.ts';
import { publish, nextStep, sendStep, throughDatabase } from '../publish.ts';
import { passesAsNetwork } from '../suite.ts';
import { bench, filmParts, openYoutube } from './bench.ts';
import { listening } from '../../support/listening.ts';

passesAsNetwork(test, bench);

test('a video is live at its address, with the chosen options', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const options = {
    title: 'Mine',
    privacy: 'unlisted',
    made_for_kids: false,
    tags: ['one', 'two words'],
    category: '27',
    synthetic_media: true,
  };
  const parts = await filmParts(['About it\n\nMore'], { options });
  const { sent } = await publish(youtubeNetwork, openConnection(t, account), parts);

  const [video] = await look.uploads();
  t.is(video?.id, sent[0]?.remoteId);
  t.is(sent[0]?.url, `${account.baseUrl}/watch?v=${video?.id}`);
  t.like(video?.snippet, { title: 'Mine', description: 'About it\n\nMore', categoryId: '27' });
  t.deepEqual(video?.snippet?.tags?.slice(0, 2), ['one', 'two words']);
  t.regex(video?.snippet?.tags?.[2] ?? '', /^punctual-[0-9a-f]{12}$/);
  t.like(video?.status, {
    privacyStatus: 'unlisted',
    selfDeclaredMadeForKids: false,
    containsSyntheticMedia: true,
  });
});

const unit = 256 * 1024;
const uploads: Target = { method: 'PUT', path: /\/upload\/youtube\/v3\/videos\?/ };

/** A playable video of this size; bytes after its end are ignored. */
async function videoOf(sizeBytes: number) {
  const { bytes, ...facts } = await playableVideo();
  const whole = Buffer.concat([bytes, randomBytes(sizeBytes - bytes.length)]);
  return fileOf(whole, { name: facts.name, type: facts.type });
}

/** A proxy that counts uploaded bytes, and breaks after this many. */
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
  const port = await listening(t, proxy);
  return { url: `http://127.0.0.1:${port}`, sentBytes: () => sent };
}

// Below 5 MB, one chunk is more than 5 %, and the protocol has no smaller chunks.
for (const megabytes of [8, 30]) {
  test(`an upload of ${megabytes} MB that is killed at 60 % continues there: less than 5 % is uploaded twice`, async (t) => {
    const { account, stored: look } = await openYoutube(t);
    const file = await videoOf(megabytes * 1_000_000);
    const line = await breakingLine(t, account.baseUrl, file.sizeBytes * 0.6);
    const kept = new Map<string, Json>();
    // Each attempt is a new process; they share only the ledger.
    const freshProcess = () =>
      openConnection(t, account, {
        baseUrl: line.url,
        uploadsOf: ({ key }) => kept.get(key) ?? null,
        saveUploads: async ({ key }, uploaded) => {
          t.is(line.sentBytes(), 0, 'the session is stored before the first byte');
          kept.set(key, JSON.parse(JSON.stringify(uploaded)));
        },
      });
    const parts = await filmParts(['Long'], { file });
    const prepared = await youtubeNetwork.prepare(freshProcess(), parts, Date.now());
    const first = nextStep(youtubeNetwork, prepared, []);
    const step = nextStep(youtubeNetwork, throughDatabase(prepared), []);

    const killed = await t.throwsAsync(sendStep(youtubeNetwork, freshProcess(), first), {
      instanceOf: NetworkError,
    });
    t.like(killed, { code: 'network_unavailable', accepted: 'no', hasProgressed: true });
    t.true(line.sentBytes() >= file.sizeBytes * 0.6);
    t.deepEqual(await look.uploads(), []);

    const [sent] = await sendStep(youtubeNetwork, freshProcess(), step);
    t.deepEqual(
      (await look.uploads()).map(({ id }) => id),
      [sent?.remoteId],
    );
    const twice = line.sentBytes() - file.sizeBytes;
    t.true(
      twice < file.sizeBytes * 0.05,
      `${twice} of ${file.sizeBytes} bytes were uploaded twice`,
    );
  });
}

test('no byte of the last chunk is uploaded before the send', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const file = await videoOf(4 * unit);
  const connection = openConnection(t, account);
  const parts = await filmParts(['Whole'], { file });
  const prepared = await youtubeNetwork.prepare(connection, parts, Date.now());
  const step = nextStep(youtubeNetwork, prepared, []);

  const files = await youtubeNetwork.upload(connection, step);
  t.deepEqual(await look.uploads(), []);
  t.deepEqual(await youtubeNetwork.reconcile(connection, step), { kind: 'absent' });
  await youtubeNetwork.send(connection, step, files);
  t.is((await look.uploads()).length, 1);
});

test('a complete video whose answer was lost is not uploaded again', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = await filmParts(['Lost']);
  const prepared = throughDatabase(await youtubeNetwork.prepare(connection, parts, Date.now()));
  const step = nextStep(youtubeNetwork, prepared, []);
  proxy.plan(uploads, { kind: 'lost' });
  await t.throwsAsync(sendStep(youtubeNetwork, connection, step));

  const [sent] = await sendStep(youtubeNetwork, connection, step);
  t.is(sent?.remoteId, (await look.uploads())[0]?.id ?? '-');
  t.is((await look.uploads()).length, 1);
  t.is(proxy.seen.filter(({ method }) => method === 'POST').length, 1);
});

test('an expired session is replaced, and its video is found by the mark in its tags', async (t) => {
  let nowMs = Date.now();
  const { account, stored: look } = await openYoutube(t, { now: () => nowMs });
  const connection = openConnection(t, account);
  const [first, second] = [await filmParts(['The same']), await filmParts(['The same'])];
  const prepare = async (parts: typeof first) =>
    nextStep(youtubeNetwork, await youtubeNetwork.prepare(connection, parts, Date.now()), []);
  const [step, other] = [await prepare(first), await prepare(second)];
  const [sent] = await sendStep(youtubeNetwork, connection, step);
  await youtubeNetwork.upload(connection, other);
  nowMs += 8 * 24 * 60 * 60_000;

  t.deepEqual(await youtubeNetwork.reconcile(connection, step), {
    kind: 'found',
    candidates: [[{ remoteId: sent?.remoteId, url: sent?.url }]],
  });
  t.deepEqual(await youtubeNetwork.reconcile(connection, other), { kind: 'absent' });
  await sendStep(youtubeNetwork, connection, other);
  t.is((await look.uploads()).length, 2);
});

test('a video whose tags leave no room for the mark is found by its other details', async (t) => {
  const { account } = await openYoutube(t);
  const connection = openConnection(t, account);
  const tags = ['x'.repeat(490)];
  const parts = await filmParts(['Full'], { options: { tags } });
  const others = await filmParts(['Full'], { options: { tags: ['y'.repeat(490)] } });
  const [sent] = (await publish(youtubeNetwork, connection, parts)).sent;
  await publish(youtubeNetwork, connection, others);

  const forgotten = openConnection(t, account);
  const prepared = await youtubeNetwork.prepare(forgotten, parts, Date.now());
  t.like(await youtubeNetwork.reconcile(forgotten, nextStep(youtubeNetwork, prepared, [])), {
    kind: 'found',
    candidates: { length: 1, 0: { 0: { remoteId: sent?.remoteId } } },
  });
});

test('a video from before the post is another video', async (t) => {
  const { account } = await openYoutube(t);
  const connection = openConnection(t, account);
  const parts = await filmParts(['Mine']);
  await publish(youtubeNetwork, connection, parts);

  const forgotten = openConnection(t, account);
  const tomorrow = Date.now() + 24 * 60 * 60_000;
  const prepared = await youtubeNetwork.prepare(forgotten, parts, tomorrow);
  const finding = await youtubeNetwork.reconcile(forgotten, nextStep(youtubeNetwork, prepared, []));
  t.deepEqual(finding, { kind: 'absent' });
});

test('an edit of the options between two attempts does not change a video whose upload has begun', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const connection = openConnection(t, account);
  const parts = await filmParts(['First words']);
  const prepared = await youtubeNetwork.prepare(connection, parts, Date.now());
  await youtubeNetwork.upload(connection, nextStep(youtubeNetwork, prepared, []));

  const edited = prepared.map((part) => Object.assign(part, { options: { title: 'Another' } }));
  await sendStep(youtubeNetwork, connection, nextStep(youtubeNetwork, edited, []));
  t.is((await look.uploads()).map(({ snippet }) => snippet?.title).join(), 'A film');
});

const odd: readonly { what: string; status: number; range?: string; accepted: 'no' | 'unknown' }[] =
  [
    { what: 'it has nothing', status: 308, accepted: 'no' },
    { what: 'it has all bytes, and no video', status: 308, range: 'all', accepted: 'unknown' },
    {
      what: 'it has more bytes than the file',
      status: 308,
      range: 'bytes=0-99999999',
      accepted: 'unknown',
    },
    { what: 'it has a range with a gap', status: 308, range: 'bytes=5-9', accepted: 'unknown' },
    { what: 'it is not found', status: 404, accepted: 'unknown' },
    { what: 'it is gone', status: 410, accepted: 'unknown' },
    { what: 'it failed', status: 503, accepted: 'unknown' },
    { what: 'it takes too long', status: 408, accepted: 'unknown' },
    { what: 'the request is wrong', status: 400, accepted: 'no' },
    { what: 'another server refuses', status: 403, accepted: 'no' },
  ];
for (const { what, status, range, accepted } of odd) {
  test(`a session that says at the last chunk that ${what} (${status}) leaves ${accepted === 'no' ? 'no video' : 'the outcome unknown'}`, async (t) => {
    const { account, stored: look } = await openYoutube(t);
    const proxy = await lossyProxy(t, account.baseUrl);
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const [part] = await filmParts(['Odd']);
    const size = part?.media[0]?.sizeBytes ?? 0;
    const headers = range && { range: range === 'all' ? `bytes=0-${size - 1}` : range };
    const answer = { status, body: '', ...(headers && { headers }) };
    proxy.plan(uploads, { kind: 'refused', answer });
    const prepared = await youtubeNetwork.prepare(connection, part ? [part] : [], Date.now());
    const step = nextStep(youtubeNetwork, prepared, []);
    t.like(await t.throwsAsync(sendStep(youtubeNetwork, connection, step)), {
      name: 'NetworkError',
      code: 'network_unavailable',
      accepted,
    });

    t.deepEqual(await youtubeNetwork.reconcile(connection, step), { kind: 'absent' });
    await sendStep(youtubeNetwork, connection, step);
    t.is((await look.uploads()).length, 1);
  });
}

test('a session with all bytes but no confirmed video does not prove that there is none', async (t) => {
  const { account, stored: look } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const [part] = await filmParts(['There']);
  const size = part?.media[0]?.sizeBytes ?? 0;
  const answer = { status: 308, headers: { range: `bytes=0-${size - 1}` } };
  proxy.plan(uploads, { kind: 'overruled', answer });
  proxy.plan(uploads, { kind: 'refused', answer });
  const prepared = await youtubeNetwork.prepare(connection, part ? [part] : [], Date.now());
  const step = nextStep(youtubeNetwork, prepared, []);
  t.like(await t.throwsAsync(sendStep(youtubeNetwork, connection, step)), { accepted: 'unknown' });

  const [video] = await look.uploads();
  const finding = await youtubeNetwork.reconcile(connection, step);
  t.is(finding.kind === 'found' ? finding.candidates[0]?.[0]?.remoteId : null, video?.id ?? '');
});
