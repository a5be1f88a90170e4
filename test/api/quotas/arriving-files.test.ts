import { statfs } from 'node:fs/promises';
import { createStaging, createStorage } from '../../../runtime/storage/create-storage.ts';
import { diskGuard } from '../../../runtime/storage/disk-storage.ts';
import { picture } from '../../support/media-files.ts';
import { filesOf, startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { answerTo, beginUpload, head, tail, write } from '../media/support/raw-upload.ts';
import { tinyDisk } from '../media/support/tiny-disk.ts';
import { limited, tally } from './limited.ts';

const test = needs('postgres');

test('an upload that says it is larger than the quota is refused before its body', async (t) => {
  const punctual = await startLibrary(t);
  const { client } = await limited(punctual, { media_bytes: 1_000_000 });
  const begun = beginUpload(t, punctual, client, { 'content-length': 2_000_000 });
  t.like(await answerTo(begun), {
    status: 402,
    body: { details: [{ quota: 'media_bytes', limit: 1_000_000, used: 0 }] },
  });
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
