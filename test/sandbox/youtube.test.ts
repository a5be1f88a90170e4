import test from 'ava';
import { picture } from '../support/media-files.ts';
import { openSandbox } from './open-sandbox.ts';

/** A video's first bytes, and a length of more than one chunk. */
const chunk = 256 * 1024;
const film = Buffer.alloc(chunk + 10);
film.write('\0\0\0\u{18}ftypmp42\0\0\0\0mp42isom', 'latin1');

type Video = {
  readonly id: string;
  readonly snippet: Record<string, unknown>;
  readonly status: Record<string, unknown>;
};
type Errors = { readonly error: { readonly errors: readonly { readonly reason: string }[] } };

const reasonIn = async (answer: Promise<Response>) => {
  const { status } = await answer;
  const { error } = (await (await answer).json()) as Errors;
  return [status, error.errors[0]?.reason];
};

/** Calls YouTube's API as documented, without a client. */
function clientOf(url: string) {
  const headers = { authorization: 'Bearer demo' };
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${url}/youtube${path}`, { ...init, headers: { ...headers, ...init.headers } });
  const begin = (resource: object, bytes = film.length, query = 'part=snippet,status') =>
    call(`/upload/youtube/v3/videos?uploadType=resumable&${query}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-upload-content-length': String(bytes),
        'x-upload-content-type': 'video/mp4',
      },
      body: JSON.stringify(resource),
    });
  const put = (session: string, range: string, body: Buffer) =>
    fetch(session, {
      method: 'PUT',
      headers: { ...headers, 'content-range': range },
      body: new Uint8Array(body),
    });
  const upload = async (snippet: object, status: object = { privacyStatus: 'public' }) => {
    const session = (await begin({ snippet, status })).headers.get('location') ?? '';
    const whole = `bytes 0-${film.length - 1}/${film.length}`;
    return (await (await put(session, whole, film)).json()) as Video;
  };
  return { call, begin, put, upload };
}

test('a video arrives in chunks, and reads back with its description', async (t) => {
  const { url } = await openSandbox(t);
  const { call, begin, put } = clientOf(url);
  const snippet = { title: 'A film', description: 'Of nothing', tags: ['one'], categoryId: '27' };
  const session = await begin({ snippet, status: { privacyStatus: 'unlisted' } });
  const address = session.headers.get('location') ?? '';
  const first = await put(address, `bytes 0-${chunk - 1}/${film.length}`, film.subarray(0, chunk));
  const asked = await put(address, `bytes */${film.length}`, Buffer.alloc(0));
  const last = await put(
    address,
    `bytes ${chunk}-${film.length - 1}/${film.length}`,
    film.subarray(chunk),
  );
  const { id } = (await last.json()) as Video;
  const read = await call(`/youtube/v3/videos?part=snippet,status&id=${id}`);

  t.deepEqual([first.status, asked.status, last.status], [308, 308, 200]);
  t.is(asked.headers.get('range'), `bytes=0-${chunk - 1}`);
  t.like(await read.json(), {
    items: {
      0: {
        snippet: { ...snippet, channelTitle: 'Demo' },
        status: { privacyStatus: 'unlisted', uploadStatus: 'processed' },
      },
    },
  });
  const again = await put(address, `bytes */${film.length}`, Buffer.alloc(0));
  t.like(await again.json(), { id });
  t.is((await fetch(`${url}/youtube/watch?v=${id}`)).status, 200);
});

test('a video that YouTube would refuse is refused before its first byte', async (t) => {
  const { url } = await openSandbox(t);
  const { begin } = clientOf(url);
  const refused = [
    [{ title: '' }, 'invalidTitle'],
    [{ title: 'x'.repeat(101) }, 'invalidTitle'],
    [{ title: 'a < b' }, 'invalidTitle'],
    [{ title: 'A', description: 'é'.repeat(2501) }, 'invalidDescription'],
    [{ title: 'A', tags: ['x'.repeat(501)] }, 'invalidTags'],
    [{ title: 'A', categoryId: '999' }, 'invalidCategoryId'],
    [{ title: 'A', categoryId: 'music' }, 'badRequest'],
    [{ title: 'A', category: '22' }, 'badRequest'],
    [{ description: 'No title' }, 'badRequest'],
  ] as const;
  for (const [snippet, reason] of refused) {
    t.deepEqual(await reasonIn(begin({ snippet })), [400, reason], JSON.stringify(snippet));
  }
  const privacy = { snippet: { title: 'A' }, status: { privacyStatus: 'friends' } };
  t.deepEqual(await reasonIn(begin(privacy)), [400, 'badRequest']);
  t.deepEqual(await reasonIn(begin({ snippet: { title: 'A' } }, 0)), [400, 'uploadTooLarge']);
  const unknownPart = begin({ snippet: { title: 'A' } }, 1, 'part=snippet,magic');
  t.deepEqual(await reasonIn(unknownPart), [400, 'unknownPart']);
});

test('a chunk at the wrong offset is refused, and the upload continues', async (t) => {
  const { url } = await openSandbox(t);
  const { begin, put } = clientOf(url);
  const session = (await begin({ snippet: { title: 'A' } })).headers.get('location') ?? '';
  const wrong = [
    `bytes 5-${film.length - 1}/${film.length}`,
    `bytes 0-99/${film.length}`,
    `bytes 0-${film.length - 1}/${film.length + 1}`,
    'bytes all',
  ];
  for (const range of wrong) {
    t.is((await put(session, range, film)).status, 400, range);
  }
  t.is((await put(session, `bytes 0-${film.length - 1}/${film.length}`, film)).status, 200);
  const none = `${session.split('?')[0]}?uploadType=resumable&part=snippet&upload_id=none`;
  t.is((await put(none, `bytes */${film.length}`, Buffer.alloc(0))).status, 404);
});

test('a call without a valid token is refused, and so is an unknown call', async (t) => {
  const { url } = await openSandbox(t);
  const { call } = clientOf(url);
  const stranger = { headers: { authorization: 'Bearer stranger' } };
  const channels = '/youtube/v3/channels?part=id&mine=true';
  const refused = [
    [call(channels, stranger), 401, 'authError'],
    [call('/youtube/v3/channels?part=id'), 400, 'missingRequiredParameter'],
    [call('/youtube/v3/channels?part=nonsense&mine=true'), 400, 'unknownPart'],
    [call(`${channels}&mineToo=true`), 400, 'unexpectedParameter'],
    [call('/youtube/v3/search?part=id'), 404, 'methodNotFound'],
    [call('/youtube/v3/playlistItems?part=id&playlistId=UU0'), 404, 'playlistNotFound'],
  ] as const;
  for (const [answer, status, reason] of refused) {
    t.deepEqual(await reasonIn(answer), [status, reason]);
  }
  t.like(await (await call(channels)).json(), { items: { 0: { id: 'UCsandboxDemoChannel0000' } } });
});

test('a channel’s uploads are listed, newest first, in pages', async (t) => {
  const { url } = await openSandbox(t);
  const { call, upload } = clientOf(url);
  for (const title of ['one', 'two', 'three']) {
    await upload({ title });
  }
  type Page = { nextPageToken?: string; items: { snippet: { title: string } }[] };
  const list = async (more = '') => {
    const path = `/youtube/v3/playlistItems?part=snippet&playlistId=UUsandboxDemoChannel0000&maxResults=2`;
    return (await (await call(`${path}${more}`)).json()) as Page;
  };
  const first = await list();
  const second = await list(`&pageToken=${first.nextPageToken}`);
  const titles = [first, second].map(({ items }) => items.map(({ snippet }) => snippet.title));

  t.deepEqual(titles, [['three', 'two'], ['one']]);
  t.is(second.nextPageToken, undefined);
});

test('comments appear under a video that allows them, and a thumbnail is an image', async (t) => {
  const { url } = await openSandbox(t);
  const { call, upload } = clientOf(url);
  const [open, closed] = [
    await upload({ title: 'Open' }),
    await upload({ title: 'Closed' }, { privacyStatus: 'private' }),
  ];
  const comment = (videoId: string, textOriginal: string) =>
    call('/youtube/v3/commentThreads?part=snippet', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        snippet: { videoId, topLevelComment: { snippet: { textOriginal } } },
      }),
    });
  const thumbnail = (videoId: string, bytes: Buffer) =>
    call(`/upload/youtube/v3/thumbnails/set?videoId=${videoId}`, {
      method: 'POST',
      body: new Uint8Array(bytes),
    });

  t.is((await comment(open.id, 'First')).status, 200);
  t.like(await (await call(`/youtube/v3/commentThreads?part=snippet&videoId=${open.id}`)).json(), {
    items: { 0: { snippet: { topLevelComment: { snippet: { textOriginal: 'First' } } } } },
  });
  t.deepEqual(await reasonIn(comment(open.id, ' ')), [400, 'commentTextRequired']);
  t.deepEqual(await reasonIn(comment(closed.id, 'Hi')), [403, 'forbidden']);
  const forKids = await upload({ title: 'Kids' }, { selfDeclaredMadeForKids: true });
  t.deepEqual(await reasonIn(comment(forKids.id, 'Hi')), [403, 'commentsDisabled']);
  const slow = await upload({ title: 'Slow #sandbox-slow' });
  t.deepEqual(await reasonIn(comment(slow.id, 'Hi')), [403, 'forbidden']);
  for (let polls = 0; polls < 3; polls += 1) {
    await call(`/youtube/v3/videos?part=status&id=${slow.id}`);
  }
  t.is((await comment(slow.id, 'Hi')).status, 200);
  t.deepEqual(await reasonIn(comment('none', 'Hi')), [404, 'videoNotFound']);
  t.is((await thumbnail(open.id, await picture('jpeg'))).status, 200);
  t.deepEqual(await reasonIn(thumbnail(open.id, await picture('gif'))), [400, 'invalidImage']);
});
