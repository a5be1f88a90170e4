import { Readable } from 'node:stream';
import type { ExecutionContext, TestFn } from 'ava';
import { NetworkError, type SentPart } from '../../networks/network.ts';
import { lossyProxy } from '../support/lossy-proxy.ts';
import { openConnection } from './connection.ts';
import { pictureFile, type TestPartMedia } from './files.ts';
import { nextStep, partsWith, publish, sendStep, throughDatabase } from './publish.ts';
import { textWithPictures, type Bench, type PostShape, type TestAccount } from './bench.ts';

/** Whether a post has exactly these files, in this order; images are compared by pixel. */
async function shows(
  t: ExecutionContext,
  { filesOf, essenceOf }: TestAccount & Pick<PostShape, 'essenceOf'>,
  post: SentPart | undefined,
  files: readonly TestPartMedia[],
): Promise<void> {
  const live = await filesOf(post?.remoteId ?? '');
  t.deepEqual(
    await Promise.all(live.map(essenceOf)),
    await Promise.all(files.map(({ bytes }) => essenceOf(bytes))),
  );
}

/** The part of the common suite about files. */
export function carriesMedia(testIt: TestFn, bench: Bench): void {
  publishesFiles(testIt, bench);
  settlesLostFiles(testIt, bench);
  tellsPostsApart(testIt, bench);
  sendsNothingWithoutFiles(testIt, bench);
}

function publishesFiles(
  testIt: TestFn,
  { network, makeAccount, shape = textWithPictures }: Bench,
): void {
  testIt('a post is live with its files, in their order', async (t) => {
    const server = { ...shape, ...(await makeAccount(t)) };
    const files = await shape.makeFiles();
    const parts = await shape.parts(['With files'], files);
    const { sent } = await publish(network, openConnection(t, server.account), parts);

    t.like(await server.posts(), [{ remoteId: sent[0]?.remoteId, text: 'With files' }]);
    await shows(t, server, sent[0], files);
  });

  if (network.rules.threads) {
    testIt('each part of a thread has its own images', async (t) => {
      const server = { ...shape, ...(await makeAccount(t)) };
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

function settlesLostFiles(testIt: TestFn, bench: Bench): void {
  const { network, makeAccount, creates, uploads, shape = textWithPictures } = bench;
  for (const text of ['Files with words', '']) {
    const what = text === '' ? 'a post of files alone' : 'a post with files';
    testIt(`after a lost answer, ${what} is found, and exists once`, async (t) => {
      const server = { ...shape, ...(await makeAccount(t)) };
      const proxy = await lossyProxy(t, server.account.baseUrl);
      const connection = openConnection(t, server.account, { baseUrl: proxy.url });
      const files = await shape.makeFiles();
      const parts = await shape.parts([text], files);
      const prepared = throughDatabase(await network.prepare(connection, parts, Date.now()));
      const step = nextStep(network, prepared, []);
      proxy.plan(creates, { kind: 'lost' });
      const attempt = sendStep(network, connection, step);
      t.like(await t.throwsAsync(attempt), { name: 'NetworkError', accepted: 'unknown' });

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
    'after a lost answer to an upload, nothing is posted, and the next attempt posts the files once',
    async (t) => {
      const server = { ...shape, ...(await makeAccount(t)) };
      const proxy = await lossyProxy(t, server.account.baseUrl);
      const connection = openConnection(t, server.account, { baseUrl: proxy.url });
      const files = await shape.makeFiles();
      const parts = await shape.parts(['Twice begun'], files);
      const prepared = throughDatabase(await network.prepare(connection, parts, Date.now()));
      const step = nextStep(network, prepared, []);
      for (const _ of files.slice(1)) {
        proxy.plan(uploads, { kind: 'none' });
      }
      proxy.plan(uploads, { kind: 'lost' });
      const lost = { name: 'NetworkError', code: 'network_unavailable', accepted: 'no' };
      t.like(await t.throwsAsync(sendStep(network, connection, step)), lost);
      t.deepEqual(await server.posts(), []);

      const sent = await sendStep(network, connection, step);
      t.is((await server.posts()).length, 1);
      await shows(t, server, sent[0], files);
    },
  );
}

function tellsPostsApart(
  testIt: TestFn,
  { network, makeAccount, shape = textWithPictures }: Bench,
): void {
  const other = shape.needsFile ? 'with other files' : 'without';
  testIt(`a post with files is not taken for one with the same text ${other}`, async (t) => {
    const server = await makeAccount(t);
    const connection = openConnection(t, server.account);
    const parts = await shape.parts(['The same words'], await shape.makeFiles());
    const prepared = await network.prepare(connection, parts, Date.now());
    await publish(network, connection, await shape.parts(['The same words']));

    const step = nextStep(network, throughDatabase(prepared), []);
    t.like(await network.reconcile(connection, step), { kind: 'absent' });
  });
}

function sendsNothingWithoutFiles(
  testIt: TestFn,
  { network, makeAccount, shape = textWithPictures }: Bench,
): void {
  const gone = new NetworkError('media_refused', 'The file is gone.', { accepted: 'no' });
  async function* breaking(bytes: Buffer) {
    yield bytes.subarray(0, 50);
    throw new Error('The disk broke.');
  }
  const broken: Record<string, (file: TestPartMedia) => [Partial<TestPartMedia>, object]> = {
    'that is gone': () => [
      { open: () => Promise.reject(gone) },
      { code: 'media_refused', message: gone.message },
    ],
    'that breaks off': ({ bytes, name }) => [
      { open: async () => Readable.from(breaking(bytes)) },
      {
        code: 'internal',
        accepted: 'no',
        message: `The file "${name}" could not be read to its end: the media storage of this service broke off.`,
      },
    ],
    'that has become shorter': ({ bytes }) => [
      { open: async () => Readable.from([bytes.subarray(1)]) },
      { code: 'media_refused', accepted: 'no' },
    ],
    'that has become longer': ({ bytes }) => [
      { open: async () => Readable.from([bytes, bytes]) },
      { code: 'media_refused', accepted: 'no' },
    ],
  };
  for (const [what, breakIt] of Object.entries(broken)) {
    testIt(`a post with a file ${what} is not sent`, async (t) => {
      const server = await makeAccount(t);
      const connection = openConnection(t, server.account);
      const [whole] = await shape.makeFiles();
      if (!whole) {
        throw new Error('The post has no file to break.');
      }

      const [differently, expected] = breakIt(whole);
      const file = { ...whole, ...differently };
      const attempt = publish(network, connection, await shape.parts(['Nothing'], [file]));
      t.like(await t.throwsAsync(attempt, { instanceOf: NetworkError }), expected);

      // The file may also break between preparing and uploading.
      const parts = await shape.parts(['Nothing'], [whole]);
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
