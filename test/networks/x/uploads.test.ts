import test from 'ava';
import { NetworkError, type PreparedPart } from '../../../networks/network.ts';
import { segmentBytes } from '../../../networks/x/upload/segments.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { animation } from '../../support/media-files.ts';
import { openConnection } from '../connection.ts';
import { fileOf, pictureFile } from '../files.ts';
import { partsWith, publish } from '../publish.ts';
import { connected, x } from './bench.ts';
import { agedBy, sending, filmOf, order } from './broken-line.ts';

const append = { method: 'POST', path: /\/append$/ };
const finalize = { method: 'POST', path: /\/finalize$/ };
const look = { method: 'GET', path: /command=STATUS/ };
const away = { kind: 'refused', answer: { status: 503 } } as const;
const lookAt = 'media/upload?command=STATUS&media_id=ID';

test('a video goes up in segments and is live, byte by byte', async (t) => {
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

test('an upload that broke off in the middle goes on at the segment that was on its way', async (t) => {
  const film = await filmOf(5);
  const { proxy, asked, hasFile, sendOnce } = await sending(t, film);
  for (let segment = 0; segment < 3; segment += 1) {
    proxy.plan(append, { kind: 'none' });
  }
  proxy.plan(append, away);
  const broken = { code: 'network_unavailable', taken: 'no' };
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
  t.deepEqual(opened, [3 * segmentBytes], 'what is there is not even read again');
  t.true(await hasFile());
});

test('a segment whose answer was lost is sent once more, and the video is whole', async (t) => {
  const film = await filmOf(2);
  const { proxy, hasFile, sendOnce } = await sending(t, film);
  proxy.plan(append, { kind: 'lost' });
  await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });

  await sendOnce();
  t.true(await hasFile());
});

test('a worker that died between the last segment and the end of the upload costs one request', async (t) => {
  const film = await filmOf(2);
  const { proxy, asked, hasFile, sendOnce } = await sending(t, film);
  proxy.plan(finalize, away);
  await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  asked();

  await sendOnce();
  t.deepEqual(asked(), ['media/upload/ID/finalize', 'tweets']);
  t.true(await hasFile());
});

test('an end of the upload whose answer was lost is not said twice for nothing', async (t) => {
  const film = await filmOf(2);
  const { proxy, asked, hasFile, sendOnce } = await sending(t, film);
  proxy.plan(finalize, { kind: 'lost' });
  await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  asked();

  await sendOnce();
  t.deepEqual(asked(), ['media/upload/ID/finalize', lookAt, 'tweets']);
  t.true(await hasFile());
});

test('a video that X works on for a while is waited for', async (t) => {
  const { sandbox, asked, posts, sendOnce } = await sending(t, await filmOf(1));
  await order(sandbox, 'slow');
  await sendOnce();

  t.deepEqual(asked().slice(-4), [lookAt, lookAt, lookAt, 'tweets']);
  t.is((await posts()).length, 1);
});

test('a video that X works on longer than a try may take is waited for by the next one', async (t) => {
  const { sandbox, proxy, asked, posts, sendOnce } = await sending(t, await filmOf(1));
  await order(sandbox, 'slow');
  const info = { state: 'in_progress', check_after_secs: 1e9 };
  const body = JSON.stringify({ data: { id: '1', processing_info: info } });
  proxy.plan(look, { kind: 'overruled', answer: { status: 200, body } });
  const beforeMs = Date.now();
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'network_unavailable', taken: 'no' });
  t.is(error.message, 'X still works on the file "clip.mp4".');
  const waitMs = (error.retryAtMs ?? 0) - beforeMs;
  t.true(waitMs >= 10 * 60_000 && waitMs < 20 * 60_000, `${waitMs}`);
  asked();

  await sendOnce();
  t.deepEqual([...new Set(asked())], [lookAt, 'tweets'], 'nothing is uploaded again');
  t.is((await posts()).length, 1);
});

test('a video that X cannot work with is refused with its name, and nothing is posted', async (t) => {
  const { sandbox, posts, sendOnce } = await sending(t, await filmOf(1));
  await order(sandbox, 'broken');
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'media_refused', taken: 'no' });
  t.is(error.message, 'X could not process the file "clip.mp4".');
  t.deepEqual(await posts(), []);
});

test('X names the reason why it cannot work with a video beside what its document has', async (t) => {
  const { proxy, sendOnce } = await sending(t, await filmOf(1));
  const info = { state: 'failed', error: { name: 'InvalidMedia', message: 'No video in it.' } };
  const body = JSON.stringify({ data: { id: '1', processing_info: info } });
  proxy.plan(finalize, { kind: 'overruled', answer: { status: 200, body } });
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'media_refused', taken: 'no' });
  t.is(error.message, 'X could not process the file "clip.mp4": "No video in it.".');
});

test('a file that is none of its kind is refused with its name and the words of X', async (t) => {
  const noFilm = fileOf(Buffer.from('no film '.repeat(50)), { name: 'a.mp4', type: 'video/mp4' });
  const { posts, sendOnce } = await sending(t, noFilm);
  const error = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(error, { code: 'media_refused', taken: 'no' });
  t.is(error.message, 'X refused the file "a.mp4" (HTTP 400): "media type unrecognized.".');
  t.deepEqual(await posts(), []);
});

for (const [what, target] of [
  ['the look at its processing', look],
  ['the next segment', append],
] as const) {
  test(`an upload that X knows nothing of any more at ${what} begins anew in the same try`, async (t) => {
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

test('a picture that is there is not brought again, nor described again, unless X has forgotten it', async (t) => {
  const file = { ...(await pictureFile()), altText: 'A picture' };
  const { openTry, step, asked, kept } = await sending(t, file);
  const upload = () => x.upload(openTry(), step);
  const [id] = await upload();
  t.deepEqual(asked(), ['media/upload', 'media/metadata']);
  t.deepEqual(await upload(), [id]);
  t.deepEqual(asked(), []);

  agedBy(kept, 23.95 * 60 * 60_000);
  t.notDeepEqual(await upload(), [id]);
  t.deepEqual(asked(), ['media/upload', 'media/metadata']);
});

test('what was kept in another shape, or of another file, is no obstacle', async (t) => {
  const { openTry, step, kept, asked } = await sending(t, await pictureFile());
  const [part] = step.parts as [PreparedPart];
  await x.upload(openTry(), step);
  for (const odd of [
    'odd',
    { files: [{ id: 'odd' }] },
    JSON.parse(JSON.stringify(kept.get(part.key)).replace(part.media[0]?.id ?? '', 'another')),
  ]) {
    kept.set(part.key, odd);
    asked();
    await x.upload(openTry(), step);
    t.deepEqual(asked(), ['media/upload']);
  }
});

test('a file that X does not know yet when the post names it is tried again, and refused when that does not help', async (t) => {
  const { proxy, kept, sendOnce, posts } = await sending(t, await pictureFile());
  const body = JSON.stringify({ title: 'Bad Request', detail: 'Your media IDs are invalid.' });
  const invalid = { kind: 'refused', answer: { status: 400, body } } as const;
  const creates = { method: 'POST', path: /\/2\/tweets$/ };
  proxy.plan(creates, invalid);
  const early = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(early, { code: 'network_unavailable', taken: 'no' });

  agedBy(kept, 3 * 60_000);
  proxy.plan(creates, invalid);
  const late = await t.throwsAsync(sendOnce(), { instanceOf: NetworkError });
  t.like(late, { code: 'media_refused', taken: 'no' });
  t.true(late.message.includes('Your media IDs are invalid.'));
  t.deepEqual(await posts(), []);
});

test('the name that a file has in the library stays there', async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const film = { ...(await filmOf(1)), name: 'for Ms. Private.mp4' };
  await publish(x, connection, partsWith([await pictureFile('for Ms. Private.png')], 'One'));
  await publish(x, connection, partsWith([film], 'Two'));

  t.false(proxy.seen.some(({ body, path }) => `${path} ${body}`.includes('Private')));
});
