import type { RequestListener } from 'node:http';
import type { ExecutionContext } from 'ava';
import { nameInUrl } from '../../../services/media/file-texts.ts';
import { newClient, type Reply } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture, video } from '../../support/media-files.ts';
import { filesOf, linkTo, newFilesOf, rowsOf, startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import type { ApiOptions } from '../../support/punctual.ts';
import { storeChannel } from '../../support/seed.ts';
import { ca, fileServer, type Answers } from './support/file-server.ts';

// In series, because most tests check the folder of the shared library.
const test = needs('postgres').serial;

/** A library, and the one server that downloads may use. */
async function libraryAndServer(t: ExecutionContext, options: ApiOptions = {}) {
  const server = await fileServer(t);
  const punctual = await startLibrary(t, { ca, allowPorts: [server.port], ...options });
  return { server, punctual };
}

const shared = beforeTests(needs('postgres'), libraryAndServer);

/** A workspace, and a site with these responses. */
async function begin(t: ExecutionContext, answers: Answers, { server, punctual } = shared()) {
  const site = server.newSite(answers);
  const client = await newClient(punctual);
  const files = await newFilesOf(punctual);
  const draft = (...urls: string[]): Promise<Reply> =>
    client.post('/posts', { body: 'Look', media_urls: urls });
  /** Asserts that a draft with these URLs is refused for this reason, and that no file is left. */
  const refused = async (paths: string[], index: number, reason: RegExp) => {
    const urls = paths.map(site.at);
    const { status, body } = await draft(...urls);
    t.is(status, 400, JSON.stringify(body));
    t.is(body.code, 'invalid_media_url');
    t.true(body.error.includes(urls[index]), body.error);
    t.is(body.details[0].path, `/media_urls/${index}`);
    t.regex(body.details[0].message, reason);
    t.deepEqual(await files(), []);
    t.is(await rowsOf(punctual, client.workspaceId), 0);
    t.deepEqual((await client.get('/posts')).body.posts, []);
  };
  return { punctual, client, site, files, draft, refused };
}

test('files are downloaded into the library in order and attached to the post', async (t) => {
  const [still, moving] = [await picture('jpeg'), await video('mp4')];
  const answers = { '/a.jpg': still, '/b': moving };
  const { punctual, client, site, files, draft } = await begin(t, answers);
  const { status, body } = await draft(site.at('/b'), site.at('/a.jpg?size=large'));

  t.is(status, 201);
  t.deepEqual(
    body.post.media.map(({ type }: { type: string }) => type),
    ['video/mp4', 'image/jpeg'],
  );
  const { media } = (await client.get('/media')).body;
  t.deepEqual(media.map(({ name }: { name: string }) => name).toSorted(), ['a.jpg', 'b']);
  const bytes = await fetch(linkTo(punctual, body.post.media[1].url));
  t.deepEqual(Buffer.from(await bytes.arrayBuffer()), still);
  t.is((await files()).length, 2);
});

test('at most four files are downloaded at a time', async (t) => {
  const bytes = await picture();
  const [four, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [now, most] = [0, 0];
  const { site, draft } = await begin(t, {
    '/b.png': bytes,
    '/a.png': async (_request, response) => {
      now += 1;
      most = Math.max(most, now);
      if (now === 4) {
        four.resolve();
      }

      await goOn.promise;
      now -= 1;
      response.end(bytes);
    },
  });
  const drafted = draft(...Array.from({ length: 10 }, (_, count) => site.at(`/a.png?${count}`)));
  await four.promise;
  // A fifth download would have started before this other call was answered.
  t.is((await draft(site.at('/b.png'))).status, 201);
  goOn.resolve();

  t.is((await drafted).status, 201);
  t.is(most, 4);
});

test('one invalid file refuses all, and is named', async (t) => {
  const { refused } = await begin(t, { '/a.png': await picture(), '/b.png': Buffer.from('b') });

  await refused(['/a.png', '/b.png', '/a.png?2'], 1, /neither an image/v);
});

test('a missing file, or one with a server error, is refused', async (t) => {
  const { refused } = await begin(t, {
    '/500': (_request, response) => response.writeHead(500).end(),
    '/204': (_request, response) => response.writeHead(204).end(),
  });

  await refused(['/404'], 0, /^The server answered 404\.$/v);
  await refused(['/500'], 0, /^The server answered 500\.$/v);
  await refused(['/204'], 0, /^The server answered 204\.$/v);
});

test('all invalid URLs are named before any request', async (t) => {
  const { site, draft } = await begin(t, { '/a.png': await picture() });
  const { status, body } = await draft(
    site.at('/a.png'),
    'http://example.com/a.png',
    'https://10.0.0.1/a.png',
    'https://me:secret@example.com/a.png',
    'https://localhost/a.png',
  );

  t.is(status, 400);
  t.is(body.code, 'invalid_media_url');
  t.deepEqual(
    body.details.map(({ path }: { path: string }) => path),
    [1, 2, 3, 4].map((index) => `/media_urls/${index}`),
  );
  t.deepEqual(site.asked, []);
});

test('a file larger than 200 MB is refused by its length, before its body is read', async (t) => {
  const { refused } = await begin(t, {
    '/big': (_request, response) =>
      response.writeHead(200, { 'content-length': 200 * 1024 * 1024 + 1 }).flushHeaders(),
  });

  await refused(['/big'], 0, /^The file is larger than 200 MB\.$/v);
});

test('a file over 200 MB without a length is stopped at the limit', async (t) => {
  const piece = Buffer.alloc(1024 * 1024);
  let sent = 0;
  const { refused } = await begin(t, {
    '/big': (_request, response) => {
      const more = (): void => {
        while (!response.destroyed && sent < 400 && response.write(piece)) {
          sent += 1;
        }
      };
      response.on('drain', more);
      more();
    },
  });

  await refused(['/big'], 0, /^The file is larger than 200 MB\.$/v);
  t.true(sent < 250, `${sent} MB were sent`);
});

test('a download from a stalled server is aborted', async (t) => {
  const bytes = await picture();
  const answers: Answers = {
    '/mute': () => {},
    '/half': (_request, response) => response.write(bytes.subarray(0, 20)),
  };
  const impatient = await libraryAndServer(t, { media: { stallMs: 400 } });
  const { punctual, refused } = await begin(t, answers, impatient);

  await refused(['/mute'], 0, /was silent for 0\.4 s/v);
  await refused(['/half'], 0, /was silent for 0\.4 s/v);
  t.deepEqual(await filesOf(punctual), []);
});

test('an incomplete file is refused', async (t) => {
  const bytes = await picture();
  const { refused } = await begin(t, {
    '/half': (_request, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 60), () => response.destroy());
    },
    '/chunks': (_request, response) =>
      response.write(bytes.subarray(0, 60), () => response.destroy()),
  });

  await refused(['/half'], 0, /^The connection broke/v);
  await refused(['/chunks'], 0, /^The connection broke/v);
});

test('three redirects are followed and a fourth is not', async (t) => {
  const hop =
    (to: string): RequestListener =>
    (_request, response) =>
      response.writeHead(302, { location: `.${to}` }).end();
  const { draft, refused, site } = await begin(t, {
    '/4': hop('/3'),
    '/3': hop('/2'),
    '/2': hop('/1'),
    '/1': hop('/a.png'),
    '/a.png': await picture(),
  });

  await refused(['/4'], 0, /redirects more than 3 times/v);
  const { body } = await draft(site.at('/3'));
  t.is(body.post.media[0].type, 'image/png');
});

test('a redirect to a private address is refused', async (t) => {
  const { refused } = await begin(t, {
    '/trap': (_request, response) =>
      response.writeHead(302, { location: 'https://169.254.169.254/latest' }).end(),
  });

  await refused(['/trap'], 0, /does not lead to a public address/v);
});

test('when the post is refused, its downloads are removed, and the error names their URLs', async (t) => {
  const { punctual, client, site, files } = await begin(t, { '/a.png': await picture() });
  const youtube = await storeChannel(punctual, client.workspaceId, { platform: 'youtube' });
  const { body } = await client.post('/posts', {
    media_urls: [site.at('/a.png')],
    channel_ids: [youtube],
    schedule_in_minutes: 60,
  });
  const places: string[] = body.details.map(({ path }: { path: string }) => path);
  t.true(places.includes('/media_urls/0') && places.includes('/media_urls'), places.join());
  const { status } = await client.post('/posts', {
    body: 'Look',
    media_urls: [site.at('/a.png')],
    media_ids: ['0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d'],
  });

  t.is(status, 400);
  t.deepEqual(await files(), []);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

test('a client that hangs up ends the download, and no file is left', async (t) => {
  const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { punctual, client, site, files } = await begin(t, {
    '/slow': (request, response) => {
      request.socket.on('close', () => left.resolve());
      response.write(Buffer.alloc(1000), () => asked.resolve());
    },
  });
  const hangUp = new AbortController();
  const call = fetch(`${punctual.url}/api/v1/posts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ media_urls: [site.at('/slow')] }),
    signal: hangUp.signal,
  });
  await asked.promise;
  hangUp.abort();
  await t.throwsAsync(call, { name: 'AbortError' });
  await left.promise;

  await poll(files, ({ length }) => length === 0);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

const inUrls = {
  'https://example.com/a/cat.png?size=2#top': 'cat.png',
  'https://example.com/our%20cat%2Fdog.png': 'our cat/dog.png',
  'https://example.com/%ff.png': '%ff.png',
  'https://example.com/': '',
  'https://example.com': '',
};
for (const [url, expected] of Object.entries(inUrls)) {
  test(`the name in ${url} is "${expected}"`, (t) => {
    t.is(nameInUrl(url), expected);
  });
}
