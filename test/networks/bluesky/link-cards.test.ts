import { createServer, type RequestListener } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { holdPicture } from '../../../networks/bluesky/blobs.ts';
import { pageFacts } from '../../../networks/link-card/page.ts';
import type { Account, PreparedPart } from '../../../networks/network.ts';
import { picture } from '../../support/media-files.ts';
import { openConnection, waysOutTo } from '../connection.ts';
import { pictureFile } from '../files.ts';
import { partsOf, partsWith } from '../publish.ts';
import { listening } from '../../support/listening.ts';

const reader = { signal: new AbortController().signal };

const account: Account = {
  baseUrl: 'http://127.0.0.1:9',
  remoteId: 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa',
  handle: 'me.test',
  credentials: {},
  session: null,
  settings: {},
};

/** A web site of one test, and egress to this site only. */
async function openSite(t: ExecutionContext, answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  const port = await listening(t, server);
  const url = `http://127.0.0.1:${port}`;
  const downloads = waysOutTo(t, url);
  return { url, asked, connection: openConnection(t, account, { downloads }) };
}

type Embed = { external: { uri: string; title: string; description: string; thumb?: unknown } };

const dataOf = (part: PreparedPart | undefined) =>
  part?.data as { record: { embed?: Embed }; thumb?: unknown; warnings: string[] };

const html = (head: string) => `<!doctype html><html><head>${head}</head><body>…</body></html>`;

const pageWith =
  (head: string): RequestListener =>
  (_, response) =>
    response.setHeader('content-type', 'text/html; charset=utf-8').end(html(head));

test('the first link of a text has a card: title, description and a small image', async (t) => {
  const large = await picture('png', { width: 3000, height: 1500 });
  const site = await openSite(t, (request, response) => {
    if (request.url === '/fox.png') {
      response.setHeader('content-type', 'image/png').end(large);
    } else {
      const tags = `<title>Plain</title><meta property="og:title" content=" The  &lt;Fox&gt; ">
        <meta name="description" content="A tale"><meta property="og:image" content="/fox.png">`;
      pageWith(tags)(request, response);
    }
  });
  const text = `Read ${site.url}/tale and ${site.url}/other`;
  const [part] = await blueskyNetwork.prepare(site.connection, partsOf(text), Date.now());

  const { record, thumb, warnings } = dataOf(part);
  t.deepEqual(warnings, []);
  t.like(record.embed, {
    $type: 'app.bsky.embed.external',
    external: { uri: `${site.url}/tale`, title: 'The <Fox>', description: 'A tale', thumb },
  });
  t.like(thumb, { mimeType: 'image/jpeg' });
  t.deepEqual(site.asked, ['/tale', '/fox.png']);
});

test('a post with files, without a link, or whose owner disabled cards has no card', async (t) => {
  const site = await openSite(t, pageWith('<title>Never read</title>'));
  const link = `${site.url}/a`;
  const unwanted = partsOf(link).map((part) =>
    Object.assign(part, { options: { link_card: false } }),
  );
  const parts = [...partsWith([await pictureFile()], link), ...partsOf('No link'), ...unwanted];
  const prepared = await blueskyNetwork.prepare(site.connection, parts, Date.now());

  t.deepEqual(
    prepared.map((part) => String(Object(dataOf(part).record.embed)['$type'])),
    ['app.bsky.embed.images', 'undefined', 'undefined'],
  );
  t.deepEqual(site.asked, []);
});

test('a link that appears twice in a thread is fetched once', async (t) => {
  const site = await openSite(t, pageWith('<title>Once</title>'));
  const parts = partsOf(`One ${site.url}/a`, `Two ${site.url}/a`);
  const prepared = await blueskyNetwork.prepare(site.connection, parts, Date.now());

  t.deepEqual(
    prepared.map((part) => dataOf(part).record.embed?.external.title),
    ['Once', 'Once'],
  );
  t.deepEqual(site.asked, ['/a']);
});

const failures: readonly [what: string, answer: RequestListener, says: RegExp][] = [
  ['does not exist', (_, response) => response.writeHead(404).end(), /it answered 404\.$/v],
  [
    'is a file',
    (_, response) => response.setHeader('content-type', 'application/pdf').end('%PDF'),
    /it is not a web page\.$/v,
  ],
  [
    'comes compressed',
    (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(),
    /compressed/v,
  ],
  [
    'announces too much',
    (_, response) =>
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-length': 30_000_000 })
        .write('<title>'),
    /it is too large\.$/v,
  ],
  ['breaks off', (request) => request.socket.destroy(), /fetched: The connection was closed/v],
  [
    'leads to another host of this machine',
    (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    /could not be fetched: .+\.$/v,
  ],
];
for (const [what, answer, says] of failures) {
  test(`a post is published without a card if the page ${what}`, async (t) => {
    const site = await openSite(t, answer);
    const [part] = await blueskyNetwork.prepare(
      site.connection,
      partsOf(`${site.url}/a`),
      Date.now(),
    );

    const { record, warnings } = dataOf(part);
    t.is(record.embed, undefined);
    t.is(warnings.length, 1);
    t.true(warnings[0]?.startsWith(`There is no card for "${site.url}/a": it `));
    t.regex(warnings[0] ?? '', says);
  });
}

const pictures: readonly [what: string, answer: RequestListener, says: RegExp][] = [
  [
    'does not exist',
    (_, response) => response.writeHead(410).end(),
    /has no picture: it answered/v,
  ],
  [
    'is not an image',
    (_, response) => response.end('<svg/>'),
    /cannot be read as one of up to 30 million pixels\.$/v,
  ],
];
for (const [what, answer, says] of pictures) {
  test(`a card has no image if the image ${what}`, async (t) => {
    const site = await openSite(t, (request, response) =>
      request.url === '/p'
        ? answer(request, response)
        : pageWith('<meta property="og:image" content="p">')(request, response),
    );
    const [part] = await blueskyNetwork.prepare(
      site.connection,
      partsOf(`${site.url}/a`),
      Date.now(),
    );

    const { record, warnings } = dataOf(part);
    t.deepEqual(record.embed?.external, {
      uri: `${site.url}/a`,
      title: new URL(site.url).host,
      description: '',
    });
    t.regex(warnings.join(' '), says);
  });
}

test('an endless page is read up to the limit for its head, in its declared encoding', async (t) => {
  const head = Buffer.from('<meta charset="iso-8859-1"><title>Für Elise</title>', 'latin1');
  const site = await openSite(t, (_, response) => {
    response.setHeader('content-type', 'text/html');
    response.write(head);
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 'x')));
    };
    response.on('drain', more);
    more();
  });
  const [part] = await blueskyNetwork.prepare(
    site.connection,
    partsOf(`${site.url}/a`),
    Date.now(),
  );
  t.is(dataOf(part).record.embed?.external.title, 'Für Elise');
});

/** A page as video sites serve it: a script of this length before the metadata. */
const longHead = (length: number) =>
  `<meta charset=utf-8><script>var page = "</head><body>${'x'.repeat(length)}"</script><title>A film</title>
  <meta property="og:description" content="Bridges"><meta property="og:image" content="/p.png">`;

test('the metadata of a head of up to 2 MB make the card, and a longer head has a warning', async (t) => {
  const bytes = await picture();
  for (const [length, title, description] of [
    [699_000, 'A film', 'Bridges'],
    [1_900_000, 'A film', 'Bridges'],
    [2_100_000, '', ''],
  ] as const) {
    const site = await openSite(t, (request, response) => {
      const negotiates = request.headers.accept?.includes('*/*') === true;
      return request.url === '/p.png'
        ? response.writeHead(negotiates ? 200 : 406).end(bytes)
        : pageWith(longHead(length))(request, response);
    });
    const link = `${site.url}/a`;
    const [part] = await blueskyNetwork.prepare(site.connection, partsOf(link), Date.now());

    const { record, warnings, thumb } = dataOf(part);
    const host = new URL(site.url).host;
    t.like(record.embed?.external, { title: title || host, description });
    t.is(thumb === undefined, title === '', 'The server of the picture answers 406 without */*.');
    const warning = `The card for "${link}" has no title: none is in the first 2 MB of the page.`;
    t.deepEqual(warnings, title === '' ? [warning] : []);
  }
});

test('a page’s title and description become single lines of limited length', async (t) => {
  const long = 'x'.repeat(10_000);
  const factsOf = (page: string) => pageFacts(page, reader);
  const facts = await factsOf(
    `<title>${long}</title><meta name=description content="a\u0000\n\tb">` +
      `<svg><title>Drawing</title></svg><meta property="og:image" content="">`,
  );
  t.deepEqual(facts, { title: `${'x'.repeat(299)}…`, description: 'a b', image: '' });
  t.deepEqual(await factsOf(''), { title: '', description: '', image: '' });
  t.is((await factsOf('<title>A</title><title>B</title>')).title, 'A');
  t.is((await factsOf(`<title>${'😀'.repeat(400)}</title>`)).title, `${'😀'.repeat(299)}…`);
});

test.serial('a page of endlessly nested tags is read in time linear to its length', async (t) => {
  for (const piece of ['<b>', '<x></y>', '<svg>', '<title>', '<p a=1 ', '<form>']) {
    const page = `<title>Deep</title>${piece.repeat(2_000_000 / piece.length)}`;
    const before = process.threadCpuUsage();
    t.is((await pageFacts(page, reader)).title, 'Deep');
    const seconds = process.threadCpuUsage(before).user / 1e6;
    t.true(seconds < 3, `${piece}: ${seconds} s`);
  }
});

test('a card’s image is decodable, upright and at most 1200 pixels wide', async (t) => {
  const bytes = await sharp({
    create: { width: 2400, height: 600, channels: 4, background: '#ff000080' },
  })
    .png()
    .toBuffer();
  const site = await openSite(t, (request, response) =>
    request.url === '/p.png'
      ? response.end(bytes)
      : pageWith('<meta property="og:image" content="/p.png">')(request, response),
  );
  const [part] = await blueskyNetwork.prepare(
    site.connection,
    partsOf(`${site.url}/a`),
    Date.now(),
  );
  t.like(dataOf(part).thumb, { mimeType: 'image/webp' });
});

test('pictures have a memory limit, and one beyond it is reported', (t) => {
  const connection = openConnection(t, account);
  const large = Buffer.alloc(1024 ** 2);
  const kept = Array.from({ length: 40 }, (_, n) => holdPicture(connection, `${n}`, large));
  t.is(kept.filter(Boolean).length, 4);
  t.true(holdPicture(connection, '0', large));
});
