import test from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { segmentBytes } from '../../../networks/x/uploads.ts';
import { animation } from '../../support/media-files.ts';
import { fileOf, pictureFile } from '../files.ts';
import { x } from './bench.ts';
import { agedBy, sending, filmOf, order } from './broken-line.ts';

const append = { method: 'POST', path: /\/append$/ };
const finalize = { method: 'POST', path: /\/finalize$/ };
const statusRequest = { method: 'GET', path: /command=STATUS/ };
const away = { kind: 'refused', answer: { status: 503 } } as const;
const statusRequestPath = 'media/upload?command=STATUS&media_id=ID';

test('a video is uploaded in segments and is live, byte by byte', async (t) => {
  const film = await filmOf(3);
  const { asked, hasFile, sendOnce, posts } = await sending(t, film);
  await sendOnce();

  t.deepEqual(asked(), [
    'media/upload/initialize',
    ...Array.from({ length: 3 }, () => 'media/upload/ID/append'),
    'media/upload/ID/finalize',
    'tweets',
  ]);
  t.true(await hasFile());
  t.like(await posts(), [{ files: [{ type: 'video' }] }]);
});

test('a GIF is live with its alt text', async (t) => {
  const bytes = await animation('gif', [100, 100]);
  const gif = fileOf(bytes, { name: 'a.gif', type: 'image/gif', altText: 'It turns' });
  const { asked, posts, sendOnce } = await sending(t, gif);
  await sendOnce();

  t.is(asked().at(-2), 'media/metadata');
  t.like(await posts(), [{ files: [{ altText: 'It turns' }] }]);
});

test('an upload that failed in the middle continues at its last segment', async (t) => {
  const film = await filmOf(5);
  const { proxy, asked, hasFile, sendOnce } = await sending(t, film);
  for (let segment = 0; segment < 3; segment += 1) {
    proxy.plan(append, { kind: 'none' });
  }
  proxy.plan(append, away);
  const broken = { code: 'network_unavailable', accepted: 'no' };
  t.like(await t.throwsAsync(sendOnce(), { instanceOf: NetworkError }), broken);
  t.is(asked().filter((path) => path.endsWith('/append')).length, 4);
  const opened: number[] = [];
  const { open } = film;
  Object.assign(film, {
    open: (byte = 0) => {
      opened.push(byte);
      return open(byte);
    },
  });

  await sendOnce();
  t.deepEqual(asked(), [
    'media/upload/ID/append',
    'media/upload/ID/append',
    'media/upload/ID/finalize',
    'tweets',
  ]);
  t.deepEqual(opened, [3 * segmentBytes, 4 * segmentBytes], 'uploaded segments are not read again');
  t.true(await hasFile());
});

test('a segment whose answer was lost is sent once more, and the video is complete', async (t) => {
  const film = await filmOf(2);
  const { proxy, hasFile, sendOnce } = await sending(t, film);
  proxy.plan(append, { kind: 'lost' });
  await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });

  await sendOnce();
  t.true(await hasFile());
});

test('after a worker dies between the last segment and the end of the upload, one more request completes it', async (t) => {
  const film = await filmOf(2);
  const { proxy, asked, hasFile, sendOnce } = await sending(t, film);
  proxy.plan(finalize, away);
  await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  asked();

  await sendOnce();
  t.deepEqual(asked(), ['media/upload/ID/finalize', 'tweets']);
  t.true(await hasFile());
});

test('after a lost answer to the end of the upload, the status says that it is complete', async (t) => {
  const film = await filmOf(2);
  const { proxy, asked, hasFile, sendOnce } = await sending(t, film);
  proxy.plan(finalize, { kind: 'lost' });
  await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  asked();

  await sendOnce();
  t.deepEqual(asked(), ['media/upload/ID/finalize', statusRequestPath, 'tweets']);
  t.true(await hasFile());
});

test('an attempt waits while X processes a video', async (t) => {
  const { sandbox, asked, posts, sendOnce } = await sending(t, await filmOf(1));
  await order(sandbox, 'slow');
  await sendOnce();

  t.deepEqual(asked().slice(-4), [
    statusRequestPath,
    statusRequestPath,
    statusRequestPath,
    'tweets',
  ]);
  t.is((await posts()).length, 1);
});

test('a video that X processes for longer than one attempt is left to the next one', async (t) => {
  const { sandbox, proxy, asked, posts, sendOnce } = await sending(t, await filmOf(1));
  await order(sandbox, 'slow');
  const info = { state: 'in_progress', check_after_secs: 1e9 };
  const body = JSON.stringify({ data: { id: '1', processing_info: info } });
  proxy.plan(statusRequest, { kind: 'overruled', answer: { status: 200, body } });
  const beforeMs = Date.now();
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'network_unavailable', accepted: 'no' });
  t.is(error.message, 'X is still processing the file "clip.mp4".');
  const waitMs = (error.retryAtMs ?? 0) - beforeMs;
  t.true(waitMs >= 10 * 60_000 && waitMs < 20 * 60_000, `${waitMs}`);
  asked();

  await sendOnce();
  t.deepEqual([...new Set(asked())], [statusRequestPath, 'tweets'], 'nothing is uploaded again');
  t.is((await posts()).length, 1);
});

test('an error names a video that X cannot process, and nothing is posted', async (t) => {
  const { sandbox, posts, sendOnce } = await sending(t, await filmOf(1));
  await order(sandbox, 'broken');
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'media_refused', accepted: 'no' });
  t.is(error.message, 'X could not process the file "clip.mp4".');
  t.deepEqual(await posts(), []);
});

test('a file with a wrong type is refused with its name and X’s message', async (t) => {
  const noFilm = fileOf(Buffer.from('no film '.repeat(50)), { name: 'a.mp4', type: 'video/mp4' });
  const { posts, sendOnce } = await sending(t, noFilm);
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'media_refused', accepted: 'no' });
  t.is(error.message, 'X refused the file "a.mp4" (HTTP 400): "media type unrecognized.".');
  t.deepEqual(await posts(), []);
});

test('an image that X refuses is refused with its name and X’s message', async (t) => {
  const { proxy, sendOnce, posts } = await sending(t, await pictureFile());
  const body = JSON.stringify({ title: 'Bad Request', detail: 'No image in it.' });
  const whole = { method: 'POST', path: /\/2\/media\/upload$/ };
  proxy.plan(whole, { kind: 'refused', answer: { status: 400, body } });
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'media_refused', accepted: 'no' });
  t.is(error.message, 'X refused the file "picture.png" (HTTP 400): "No image in it.".');
  t.deepEqual(await posts(), []);
});

for (const [what, target] of [
  ['the lookup of its status', statusRequest],
  ['the next segment', append],
] as const) {
  test(`an upload that X no longer has at ${what} starts again in the same attempt`, async (t) => {
    const film = await filmOf(2);
    const { sandbox, proxy, asked, hasFile, sendOnce } = await sending(t, film);
    await order(sandbox, 'slow');
    if (target === append) {
      proxy.plan(append, { kind: 'none' });
    }
    proxy.plan(target, away);
    await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
    asked();
    const answer = { status: 404, body: '{"title":"Not Found Error"}' };
    proxy.plan(target, { kind: 'refused', answer });

    await sendOnce();
    t.true(asked().includes('media/upload/initialize'));
    t.true(await hasFile());
  });
}

test('an uploaded image and its alt text are not sent again, unless they have expired', async (t) => {
  const file = { ...(await pictureFile()), altText: 'A picture' };
  const { openAttempt, step, asked, kept } = await sending(t, file);
  const upload = () => x.upload(openAttempt(), step);
  const [id] = await upload();
  t.deepEqual(asked(), ['media/upload', 'media/metadata']);
  t.deepEqual(await upload(), [id]);
  t.deepEqual(asked(), []);

  agedBy(kept, 23.95 * 60 * 60_000);
  t.notDeepEqual(await upload(), [id]);
  t.deepEqual(asked(), ['media/upload', 'media/metadata']);
});
