import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { newClient, type Reply } from '../../support/client.ts';
import { picture, video } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import type { ApiOptions } from '../../support/punctual.ts';
import { startLibrary } from './support/start-library.ts';
import { ca, fileServer } from './support/file-server.ts';
import { filesOf, linkTo, rowsOf } from './support/library.ts';

const test = needs('postgres');

/** A library whose downloads may go to a server with these answers. */
async function begin(
  t: ExecutionContext,
  answers: Parameters<typeof fileServer>[1],
  options: ApiOptions = {},
) {
  const server = await fileServer(t, answers);
  const punctual = await startLibrary(t, { ca, allowPorts: [server.port], ...options });
  const client = await newClient(punctual);
  const draft = (...urls: string[]): Promise<Reply> =>
    client.post('/posts', { body: 'Look', media_urls: urls });
  /** Holds that a draft with these is refused for this reason, and that nothing is left of it. */
  const refused = async (urls: string[], index: number, reason: RegExp) => {
    const { status, body } = await draft(...urls);
    t.is(status, 400, JSON.stringify(body));
    t.is(body.code, 'invalid_media_url');
    t.true(body.error.includes(urls[index]), body.error);
    t.is(body.details[0].path, `/media_urls/${index}`);
    t.regex(body.details[0].message, reason);
    t.deepEqual(await filesOf(punctual), []);
    t.is(await rowsOf(punctual, client.workspaceId), 0);
    t.deepEqual((await client.get('/posts')).body.posts, []);
  };
  return { punctual, client, server, draft, refused };
}

test('files are downloaded into the library, in their order, and the post has them', async (t) => {
  const [still, moving] = [await picture('jpeg'), await video('mp4')];
  const { punctual, client, server, draft } = await begin(t, { '/a.jpg': still, '/b': moving });
  const { status, body } = await draft(server.at('/b'), server.at('/a.jpg?size=large'));

  t.is(status, 201);
  t.deepEqual(
    body.post.media.map(({ type }: { type: string }) => type),
    ['video/mp4', 'image/jpeg'],
  );
  const { media } = (await client.get('/media')).body;
  t.deepEqual(media.map(({ name }: { name: string }) => name).toSorted(), ['a.jpg', 'b']);
  const bytes = await fetch(linkTo(punctual, body.post.media[1].url));
  t.deepEqual(Buffer.from(await bytes.arrayBuffer()), still);
  t.is((await filesOf(punctual)).length, 2);
});

test('an address that is given twice is one file', async (t) => {
  const { client, server, draft } = await begin(t, { '/a.png': await picture() });
  const { body } = await draft(server.at('/a.png'), server.at('/a.png'));

  t.is(body.post.media.length, 1);
  t.is((await client.get('/media')).body.media.length, 1);
  t.is(server.asked.length, 1);
});

test('at most four files come at a time', async (t) => {
  const bytes = await picture();
  let [now, most] = [0, 0];
  const { server, draft } = await begin(t, {
    '/a.png': (_request, response) => {
      now += 1;
      most = Math.max(most, now);
      setTimeout(() => {
        now -= 1;
        response.end(bytes);
      }, 200);
    },
  });
  const urls = Array.from({ length: 10 }, (_, count) => server.at(`/a.png?${count}`));

  t.is((await draft(...urls)).status, 201);
  t.is(most, 4);
});

test('one bad file of several leaves none, and is named', async (t) => {
  const { server, refused } = await begin(t, {
    '/a.png': await picture(),
    '/b.png': Buffer.from('b'),
  });

  await refused(['/a.png', '/b.png', '/a.png?2'].map(server.at), 1, /neither an image/v);
});

test('a file that is not there, or that its server cannot give, is refused', async (t) => {
  const { server, refused } = await begin(t, {
    '/500': (_request, response) => response.writeHead(500).end(),
    '/204': (_request, response) => response.writeHead(204).end(),
  });

  await refused([server.at('/404')], 0, /^The server answered 404\.$/v);
  await refused([server.at('/500')], 0, /^The server answered 500\.$/v);
  await refused([server.at('/204')], 0, /^The server answered 204\.$/v);
});

test('what is no image and no video is refused, whatever its server calls it', async (t) => {
  const { server, refused } = await begin(t, {
    '/cat.png': (_request, response) =>
      response.setHeader('content-type', 'image/png').end('<html>Log in first</html>'),
  });

  await refused([server.at('/cat.png')], 0, /neither an image .* nor a video/v);
});

test('addresses that are wrong by their text are all named before anything is asked for', async (t) => {
  const { server, draft } = await begin(t, { '/a.png': await picture() });
  const { status, body } = await draft(
    server.at('/a.png'),
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
  t.deepEqual(server.asked, []);
});

test('a file larger than 200 MB is refused by its length, before it comes', async (t) => {
  const { server, refused } = await begin(t, {
    '/big': (_request, response) =>
      response.writeHead(200, { 'content-length': 200 * 1024 * 1024 + 1 }).flushHeaders(),
  });

  await refused([server.at('/big')], 0, /^The file is larger than 200 MB\.$/v);
});

test('a file that is larger than 200 MB without saying so is stopped at the limit', async (t) => {
  const piece = Buffer.alloc(1024 * 1024);
  let sent = 0;
  const { server, refused } = await begin(t, {
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

  await refused([server.at('/big')], 0, /^The file is larger than 200 MB\.$/v);
  t.true(sent < 250, `${sent} MB were sent`);
});

test('a server that falls silent is left', async (t) => {
  const bytes = await picture();
  const { punctual, refused, server } = await begin(
    t,
    {
      '/mute': () => {},
      '/half': (_request, response) => response.write(bytes.subarray(0, 20)),
    },
    { media: { stallMs: 400 } },
  );

  await refused([server.at('/mute')], 0, /^The server was silent for 0\.4 s/v);
  await refused([server.at('/half')], 0, /^The server was silent for 0\.4 s/v);
  t.deepEqual(await filesOf(punctual), []);
});

test('a file that breaks off is refused', async (t) => {
  const bytes = await picture();
  const { refused, server } = await begin(t, {
    '/half': (_request, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 60), () => response.destroy());
    },
  });

  await refused([server.at('/half')], 0, /^The connection broke/v);
});

test('three redirects are followed and a fourth is not', async (t) => {
  const hop =
    (to: string): RequestListener =>
    (_request, response) =>
      response.writeHead(302, { location: to }).end();
  const { draft, refused, server } = await begin(t, {
    '/4': hop('/3'),
    '/3': hop('/2'),
    '/2': hop('/1'),
    '/1': hop('/a.png'),
    '/a.png': await picture(),
  });

  await refused([server.at('/4')], 0, /redirects more than 3 times/v);
  const { body } = await draft(server.at('/3'));
  t.is(body.post.media[0].type, 'image/png');
});

test('a redirect to a private address is refused', async (t) => {
  const { refused, server } = await begin(t, {
    '/trap': (_request, response) =>
      response.writeHead(302, { location: 'https://169.254.169.254/latest' }).end(),
  });

  await refused([server.at('/trap')], 0, /does not lead to a public address/v);
});

test('a certificate that nobody vouches for is refused', async (t) => {
  const server = await fileServer(t, { '/a.png': await picture() });
  const punctual = await startLibrary(t, { allowPorts: [server.port] });
  const client = await newClient(punctual);
  const { status, body } = await client.post('/posts', { media_urls: [server.at('/a.png')] });

  t.is(status, 400);
  t.regex(body.error, /No trusted TLS connection/v);
});

test('when the post is refused, what was downloaded for it is gone', async (t) => {
  const { punctual, client, server } = await begin(t, { '/a.png': await picture() });
  const { status } = await client.post('/posts', {
    body: 'Look',
    media_urls: [server.at('/a.png')],
    media_ids: ['0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d'],
  });

  t.is(status, 400);
  t.deepEqual(await filesOf(punctual), []);
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});

test('a client that hangs up ends the download, and nothing is left', async (t) => {
  const left = Promise.withResolvers<void>();
  const { punctual, client, server } = await begin(t, {
    '/slow': (request, response) => {
      request.socket.on('close', () => left.resolve());
      response.write(Buffer.alloc(1000));
    },
  });
  const call = fetch(`${punctual.url}/api/v1/posts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ media_urls: [server.at('/slow')] }),
    signal: AbortSignal.timeout(1000),
  });
  await t.throwsAsync(call);
  await Promise.race([left.promise, sleep(10_000).then(() => t.fail('the download goes on'))]);

  await poll(
    () => filesOf(punctual),
    (files) => files.length === 0,
  );
  t.is(await rowsOf(punctual, client.workspaceId), 0);
});
