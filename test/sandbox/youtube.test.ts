import test from 'ava';
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
  return { call, begin, put };
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
