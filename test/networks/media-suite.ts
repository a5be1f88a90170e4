import { Readable } from 'node:stream';
import type { ExecutionContext, TestFn } from 'ava';
import { NetworkError, type SentPart } from '../../networks/network.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { openConnection } from './connection.ts';
import { pictureFile, pixelsOf, type TestPartMedia } from './files.ts';
import { nextStep, partsWith, publish, sendStep, throughDatabase } from './publish.ts';
import type { Bench, TestAccount } from './bench.ts';

/** Whether the pictures of a post are these, in this order, pixel by pixel. */
async function shows(
  t: ExecutionContext,
  { filesOf }: TestAccount,
  post: SentPart | undefined,
  files: readonly TestPartMedia[],
): Promise<void> {
  const live = await filesOf(post?.remoteId ?? '');
  t.deepEqual(
    await Promise.all(live.map(pixelsOf)),
    await Promise.all(files.map(({ bytes }) => pixelsOf(bytes))),
  );
}

/** The part of the common suite that is about files. */
export function carriesMedia(testIt: TestFn, bench: Bench): void {
  publishesPictures(testIt, bench);
  settlesLostPictures(testIt, bench);
  tellsPostsApart(testIt, bench);
  sendsNothingWithoutFiles(testIt, bench);
}

function publishesPictures(testIt: TestFn, { network, makeAccount }: Bench): void {
  testIt('a post is live with its pictures, in their order', async (t) => {
    const server = await makeAccount(t);
    const files = [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 20, 40)];
    const parts = partsWith(files, 'Two pictures');
    const { sent } = await publish(network, openConnection(t, server.account), parts);

    t.like(await server.posts(), [{ remoteId: sent[0]?.remoteId, text: 'Two pictures' }]);
    await shows(t, server, sent[0], files);
  });

  if (network.rules.threads) {
    testIt('each part of a thread has its own pictures', async (t) => {
      const server = await makeAccount(t);
      const first = [await pictureFile('a.png')];
      const last = [await pictureFile('b.png', 20, 40), await pictureFile('c.png')];
      const parts = partsWith(first, 'With', 'Without', '').map((part, index) =>
        Object.assign(part, index === 2 ? { media: last } : {}),
      );
      const { sent } = await publish(network, openConnection(t, server.account), parts);

      t.is((await server.posts()).length, 3);
      await shows(t, server, sent[0], first);
      await shows(t, server, sent[1], []);
      await shows(t, server, sent[2], last);
    });
  }
}

function settlesLostPictures(testIt: TestFn, bench: Bench): void {
  const { network, makeAccount, creates, uploads } = bench;
  for (const text of ['A picture with words', '']) {
    const what = text === '' ? 'a post of a picture alone' : 'a post with a picture';
    testIt(`when the answer is lost, ${what} is found, and there once`, async (t) => {
      const server = await makeAccount(t);
      const proxy = await lossyProxy(t, server.account.baseUrl);
      const connection = openConnection(t, server.account, { baseUrl: proxy.url });
      const files = [await pictureFile()];
      const parts = partsWith(files, text);
      const prepared = throughDatabase(await network.prepare(connection, parts, Date.now()));
      const step = nextStep(network, prepared, []);
      proxy.plan(creates, { kind: 'lost' });
      const attempt = sendStep(network, connection, step);
      t.like(await t.throwsAsync(attempt), { name: 'NetworkError', taken: 'unknown' });

      const finding = await network.reconcile(connection, step);
      const posts = await server.posts();
      t.is(posts.length, 1);
      t.deepEqual(
        finding.kind === 'found' ? finding.candidates.map(([part]) => part?.remoteId) : [],
        posts.map(({ remoteId }) => remoteId),
      );
      await shows(
        t,
        server,
        finding.kind === 'found' ? finding.candidates[0]?.[0] : undefined,
        files,
      );
    });
  }

  testIt(
    'when the answer to an upload is lost, nothing was posted, and the next try has the picture once',
    async (t) => {
      const server = await makeAccount(t);
      const proxy = await lossyProxy(t, server.account.baseUrl);
      const connection = openConnection(t, server.account, { baseUrl: proxy.url });
      const files = [await pictureFile('a.png'), await pictureFile('b.png')];
      const parts = partsWith(files, 'Twice begun');
      const prepared = throughDatabase(await network.prepare(connection, parts, Date.now()));
      const step = nextStep(network, prepared, []);
      proxy.plan(uploads, { kind: 'none' });
      proxy.plan(uploads, { kind: 'lost' });
      const lost = { name: 'NetworkError', code: 'network_unavailable', taken: 'no' };
      t.like(await t.throwsAsync(sendStep(network, connection, step)), lost);
      t.deepEqual(await server.posts(), []);

      const sent = await sendStep(network, connection, step);
      t.is((await server.posts()).length, 1);
      await shows(t, server, sent[0], files);
    },
  );
}

function tellsPostsApart(testIt: TestFn, { network, makeAccount }: Bench): void {
  testIt('a post with a picture is not taken for one that says the same without', async (t) => {
    const server = await makeAccount(t);
    const connection = openConnection(t, server.account);
    const parts = partsWith([await pictureFile()], 'The same words');
    const prepared = await network.prepare(connection, parts, Date.now());
    await publish(network, connection, partsWith([], 'The same words'));

    const step = nextStep(network, throughDatabase(prepared), []);
    t.like(await network.reconcile(connection, step), { kind: 'absent' });
  });
}

function sendsNothingWithoutFiles(testIt: TestFn, { network, makeAccount }: Bench): void {
  const gone = new NetworkError('media_refused', 'The file is gone.', { taken: 'no' });
  async function* breaking(bytes: Buffer) {
    yield bytes.subarray(0, 50);
    throw new Error('The disk broke.');
  }
  const broken: Record<string, (file: TestPartMedia) => [Partial<TestPartMedia>, object]> = {
    'that is gone': () => [
      { open: () => Promise.reject(gone) },
      { code: 'media_refused', message: gone.message },
    ],
    'that breaks off': ({ bytes }) => [
      { open: async () => Readable.from(breaking(bytes)) },
      {
        code: 'internal',
        taken: 'no',
        message:
          'The file "picture.png" could not be read to its end: the media storage of this service broke off.',
      },
    ],
    'that is shorter than it was': ({ bytes }) => [
      { open: async () => Readable.from([bytes.subarray(1)]) },
      { code: 'media_refused', taken: 'no' },
    ],
    'that is longer than it was': ({ bytes }) => [
      { open: async () => Readable.from([bytes, bytes]) },
      { code: 'media_refused', taken: 'no' },
    ],
  };
  for (const [what, breakIt] of Object.entries(broken)) {
    testIt(`a post with a file ${what} is not sent`, async (t) => {
      const server = await makeAccount(t);
      const connection = openConnection(t, server.account);
      const whole = await pictureFile();
      const [differently, expected] = breakIt(whole);
      const file = { ...whole, ...differently };
      const attempt = publish(network, connection, partsWith([file], 'Nothing'));
      t.like(await t.throwsAsync(attempt, { instanceOf: NetworkError }), expected);

      // It may also break between the preparing and the upload.
      const parts = partsWith([whole], 'Nothing');
      const prepared = await network.prepare(connection, parts, Date.now());
      const step = nextStep(
        network,
        prepared.map((part) => Object.assign(part, { media: [file] })),
        [],
      );
      const late = sendStep(network, connection, step);
      t.like(await t.throwsAsync(late, { instanceOf: NetworkError }), expected);
      t.deepEqual(await server.posts(), []);
    });
  }
}
