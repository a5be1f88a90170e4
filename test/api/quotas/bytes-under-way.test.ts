import { readdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { createStaging, createStorage } from '../../../runtime/storage/create-storage.ts';
import { diskGuard } from '../../../runtime/storage/disk-storage.ts';
import type { Client, Reply } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { filesOf, newFilesOf, rowsOf, startLibrary, upload } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import type { Punctual } from '../../support/punctual.ts';
import { ca, fileServer, type Answers } from '../media/support/file-server.ts';
import { answerTo, beginUpload, head, tail, write } from '../media/support/raw-upload.ts';
import { tinyDisk } from '../media/support/tiny-disk.ts';
import { isFull, limited, tally } from './limited.ts';

// In series, because each test checks the folder of the shared library.
const test = needs('postgres').serial;

const shared = beforeTests(needs('postgres'), async (t: ExecutionContext) => {
  const server = await fileServer(t);
  const punctual = await startLibrary(t, { ca, allowPorts: [server.port] });
  return { server, punctual };
});

const limit = 1_000_000;

/** A picture of this size, padded after its end. */
const pictureOf = async (bytes: number): Promise<Buffer> => {
  const start = await picture('png');
  return Buffer.concat([start, Buffer.alloc(bytes - start.length)]);
};

/** The size of all files in the folder of the library, stored or staged. */
async function bytesIn({ mediaDir }: Pick<Punctual, 'mediaDir'>): Promise<number> {
  const entries = await readdir(mediaDir, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      stat(path.join(parentPath, name)).then(
        ({ size }) => size,
        () => 0, // Removed meanwhile.
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** A workspace with a limit of a megabyte, and a site whose `/last` is completed by `finish`. */
async function begin(t: ExecutionContext, answers: Answers = {}) {
  const { punctual, server } = shared();
  const { client } = await limited(punctual, { media_bytes: limit });
  const [bytes, done] = [await picture('png'), Promise.withResolvers<void>()];
  t.teardown(() => done.resolve());
  const site = server.newSite({
    '/last': (_request, response) => {
      response.write(bytes.subarray(0, 20));
      void done.promise.then(() => response.end(bytes.subarray(20)));
    },
    ...answers,
  });
  const [files, base] = [await newFilesOf(punctual), await bytesIn(punctual)];
  const newBytes = async (): Promise<number> => (await bytesIn(punctual)) - base;
  return { punctual, client, site, finish: done.resolve, files, newBytes };
}

type Call = (client: Client, urls: readonly string[]) => Promise<Reply>;

const calls: Readonly<Record<string, Call>> = {
  posts: (client, urls) => client.post('/posts', { body: 'x', media_urls: urls }),
  validations: (client, urls) => client.post('/posts/validate', { body: 'x', media_urls: urls }),
  edits: async (client, urls) => {
    const { id } = (await client.post('/posts', { body: 'x' })).body.post;
    return client.patch(`/posts/${id}`, { media_urls: urls });
  },
};

for (const [name, call] of Object.entries(calls)) {
  test(`${name} with an incomplete last file are refused as soon as the others exceed the quota`, async (t) => {
    const bytes = await pictureOf(600_000);
    const names = ['/1', '/2', '/3', '/4', '/5', '/6', '/7'];
    const answers = Object.fromEntries(names.map((one) => [one, bytes]));
    const { punctual, client, site, files, newBytes } = await begin(t, answers);
    let most = 0;
    const replies: Reply[] = [];
    for (let count = 0; count < 3; count += 1) {
      void call(client, [...names, '/last'].map(site.at)).then((reply) => replies.push(reply));
    }

    await poll(
      async () => {
        most = Math.max(most, await newBytes());
        return most > 2 * limit || replies.length === 3;
      },
      (isOver) => isOver,
    );

    // Parts of a refused request may remain for a moment.
    t.true(most <= 2 * limit, `${most} bytes were in the folder`);
    for (const { status, body } of replies) {
      t.is(status, 402, JSON.stringify(body));
      t.like(body.details, [{ quota: 'media_bytes', limit }]);
    }

    t.is(replies.length, 3);
    t.deepEqual(await files(), []);
    t.is(await rowsOf(punctual, client.workspaceId), 0);
  });
}

test('the bytes of another running request count until they are stored, and then once', async (t) => {
  const answers = { '/600': await pictureOf(600_000), '/300': await pictureOf(300_000) };
  const { punctual, client, site, finish, newBytes } = await begin(t, answers);
  const post = (...names: string[]) =>
    client.post('/posts', { body: 'x', media_urls: names.map(site.at) });
  const first = post('/600', '/last');
  await poll(newBytes, (bytes) => bytes === 600_020);

  isFull(t, await post('/600'), 'media_bytes', limit, 600_020);
  isFull(
    t,
    await upload(punctual, client, { bytes: await pictureOf(600_000) }),
    'media_bytes',
    limit,
    600_020,
  );
  const other = await limited(punctual, { media_bytes: limit });
  const reply = await other.client.post('/posts', { body: 'x', media_urls: [site.at('/600')] });
  t.is(reply.status, 201, 'another workspace has its own quota');
  finish();
  t.is((await first).status, 201);
  t.is((await post('/300')).status, 201);
});

test('the bytes of a failed or aborted request no longer count', async (t) => {
  const { punctual, client, site, newBytes } = await begin(t, { '/600': await pictureOf(600_000) });
  const urls = (...names: string[]) => ({ body: 'x', media_urls: names.map(site.at) });
  t.is((await client.post('/posts', urls('/600', '/none'))).status, 400);
  const hangUp = new AbortController();
  const call = fetch(`${punctual.url}/api/v1/posts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(urls('/600', '/last')),
    signal: hangUp.signal,
  });
  const begun = beginUpload(t, punctual, client);
  await write(begun, Buffer.concat([head, Buffer.alloc(300_000)]));
  await poll(newBytes, (bytes) => bytes === 900_020);
  hangUp.abort();
  await t.throwsAsync(call, { name: 'AbortError' });
  begun.destroy();

  const large = await pictureOf(limit);
  await poll(
    () => upload(punctual, client, { bytes: large }),
    ({ status }) => status === 201,
  );
});

test('an upload is refused as soon as it exceeds the quota', async (t) => {
  const { punctual, client, files } = await begin(t);
  const begun = beginUpload(t, punctual, client);
  const answer = answerTo(begun);
  await write(begun, head);
  await write(begun, Buffer.alloc(limit / 10), 11);

  const { status, body } = await answer;
  t.is(status, 402);
  t.like(body.details, [{ quota: 'media_bytes', limit, used: 0 }]);
  t.deepEqual(await files(), []);
  t.is(
    (await upload(punctual, client, { bytes: await pictureOf(limit) })).status,
    201,
    'refused bytes no longer count',
  );
});

test('of five concurrent uploads on a small disk those are refused that would fill it', async (t) => {
  const mediaDir = tinyDisk(t, 60);
  if (mediaDir === null) {
    t.log('Only root can mount on this machine.');
    t.pass();
    return;
  }

  const folder = { mediaDir, s3: null };
  const punctual = await startLibrary(t, {
    media: {
      storage: createStorage(folder),
      staging: await createStaging(folder),
      assertDiskSpace: diskGuard(mediaDir, 50),
    },
  });
  const { client } = await limited(punctual, {});
  const start = await picture('png');
  let least = 100;
  const measureFree = async () => {
    const { bavail, blocks } = await statfs(mediaDir);
    least = Math.min(least, (bavail / blocks) * 100);
  };
  const watch = setInterval(() => void measureFree(), 5);
  t.teardown(() => clearInterval(watch));
  const replies = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const begun = beginUpload(t, punctual, client);
      const answer = answerTo(begun);
      await write(begun, Buffer.concat([head, start]));
      await write(begun, Buffer.alloc(1_000_000), 20);
      begun.end(tail);
      return answer;
    }),
  );

  t.true(least > 10, `${least} % were free`);
  const { 201: taken = 0, 503: refused = 0 } = tally(replies as never);
  t.is(taken + refused, 5);
  t.true(refused >= 3, JSON.stringify(replies));
  for (const { body } of replies.filter(({ status }) => status === 503)) {
    t.regex(body.error, /disk is nearly full/v);
  }

  t.is((await filesOf({ mediaDir })).length, taken);
  t.is((await client.post('/posts', { body: 'x' })).status, 201);
});
