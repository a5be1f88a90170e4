import { createServer, type RequestListener } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { firstLink } from '../../../networks/linkedin/link-card.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { openConnection, waysOutTo } from '../connection.ts';
import { pictureFile } from '../files.ts';
import { nextStep, partsOf, partsWith, sendStep } from '../publish.ts';
import { articleOf, connected, linkedin, listed, requests, selfServe } from './bench.ts';
import { listening } from '../../support/listening.ts';

const initialize = { method: 'POST', path: /\/rest\/images\?action=initializeUpload$/ } as const;

/** A web site of one test, and an account whose posts may link to it. */
async function posting(t: ExecutionContext, answer: RequestListener, token = 'demo') {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  const port = await listening(t, server);
  const site = `http://127.0.0.1:${port}`;
  const world = await connected(t, { token });
  const proxy = await lossyProxy(t, world.account.baseUrl);
  const downloads = waysOutTo(t, site);
  const connection = openConnection(t, world.account, { baseUrl: proxy.url, downloads });
  const stepOf = async (parts = partsOf(`Read ${site}/tale.`)) =>
    nextStep(linkedin, await linkedin.prepare(connection, parts, Date.now()), []);
  const bodies = () =>
    proxy.seen.filter(({ path }) => requests.posts.path.test(path)).map(({ body }) => body);
  return { ...world, site, asked, proxy, connection, stepOf, bodies };
}

const page = (head: string): RequestListener => {
  const html = `<!doctype html><html><head>${head}</head><body>…</body></html>`;
  return (_, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
};

const tags = `<meta property="og:title" content="The &lt;Fox&gt;"><meta name="description" content="A tale">
  <meta property="og:image" content="/fox.png">`;

/** A page with an image that has transparency. */
async function foxPage(): Promise<RequestListener> {
  const create = { width: 1600, height: 800, channels: 4, background: '#ff000080' } as const;
  const fox = await sharp({ create }).png().toBuffer();
  return (request, response) =>
    request.url === '/fox.png'
      ? response.setHeader('content-type', 'image/png').end(fox)
      : page(tags)(request, response);
}

test('the first link of a post has a card with the title, the description and a JPEG of the image', async (t) => {
  const { account, url, site, connection, stepOf, asked } = await posting(t, await foxPage());
  const [sent] = await sendStep(linkedin, connection, await stepOf());

  t.is(sent?.warning, undefined);
  const [post] = await listed(account);
  t.like(post?.content?.article, {
    source: `${site}/tale`,
    title: 'The <Fox>',
    description: 'A tale',
  });
  t.regex(post?.content?.article?.thumbnail ?? '', /^urn:li:image:/v);
  t.deepEqual(asked, ['/tale', '/fox.png']);

  const article = await articleOf(account, sent?.remoteId ?? '');
  t.regex(article, /The &lt;Fox&gt;/v);
  const [, path] = /src="(\/files\/[^"]*)"/v.exec(article) ?? [];
  const shown = Buffer.from(await (await fetch(url + path)).arrayBuffer());
  t.like(await sharp(shown).metadata(), { format: 'jpeg', width: 1200, height: 600 });
});

test('a page without metadata has a card with its host', async (t) => {
  const { account, site, connection, stepOf } = await posting(t, page(''));
  const [sent] = await sendStep(linkedin, connection, await stepOf());

  t.is(sent?.warning, undefined);
  const [post] = await listed(account);
  t.deepEqual(post?.content?.article, {
    source: `${site}/tale`,
    title: new URL(site).host,
    description: '',
  });
});

test('a post with a page that cannot be fetched has no card, but a warning', async (t) => {
  const { account, site, connection, stepOf } = await posting(t, (_, response) =>
    response.writeHead(404).end(),
  );
  const [sent] = await sendStep(linkedin, connection, await stepOf());

  t.is(sent?.warning, `There is no card for "${site}/tale": it answered 404.`);
  t.is((await listed(account))[0]?.content, undefined);
});

test('a card whose image LinkedIn refuses has no image, but a warning', async (t) => {
  for (const status of [400, 403, 429, 500]) {
    const { account, site, proxy, connection, stepOf } = await posting(t, await foxPage());
    proxy.plan(initialize, { kind: 'refused', answer: { status } });
    const [sent] = await sendStep(linkedin, connection, await stepOf());

    t.true(sent?.warning?.startsWith(`The card for "${site}/tale" has no picture. LinkedIn `));
    const [post] = await listed(account);
    t.is(post?.content?.article?.title, 'The <Fox>');
    t.is(post?.content?.article?.thumbnail, undefined);
  }
});

test('access that is lost during the upload of a card’s image is lost for the post', async (t) => {
  const { proxy, connection, stepOf, posts } = await posting(t, await foxPage());
  const body = '{"status":401,"serviceErrorCode":65601,"code":"REVOKED_ACCESS_TOKEN"}';
  proxy.plan(initialize, { kind: 'refused', answer: { status: 401, body } });
  const step = await stepOf();
  const error = await t.throwsAsync(sendStep(linkedin, connection, step));
  t.like(error, { code: 'access_lost', accepted: 'no' });
  t.deepEqual(await posts(), []);

  await sendStep(linkedin, connection, step);
  t.is((await posts()).length, 1);
});

test('a post with files, without a link, or whose owner disabled cards has no card', async (t) => {
  const { account, site, asked, connection, stepOf } = await posting(t, await foxPage());
  const unwanted = partsOf(`No card ${site}/a`).map((part) =>
    Object.assign(part, { options: { link_card: false } }),
  );
  const withFile = partsWith([await pictureFile()], `A file ${site}/a`);
  for (const parts of [unwanted, withFile, partsOf('No link')]) {
    await sendStep(linkedin, connection, await stepOf(parts));
  }

  const contents = (await listed(account)).map(({ content }) => Object.keys(content ?? {}));
  t.deepEqual(contents, [[], ['media'], []]);
  t.deepEqual(asked, []);
});

test('a first comment has no card', async (t) => {
  const { site, asked, connection, posts } = await posting(t, await foxPage());
  const parts = partsOf('A post', `More at ${site}/a`);
  const prepared = await linkedin.prepare(connection, parts, Date.now());
  const sent = await sendStep(linkedin, connection, nextStep(linkedin, prepared, []));
  await sendStep(linkedin, connection, nextStep(linkedin, prepared, sent));

  t.is((await posts()).length, 2);
  t.deepEqual(asked, []);
});

test('after a lost answer, the same request is sent again and finds the live post', async (t) => {
  const world = await posting(t, await foxPage(), selfServe);
  const { proxy, connection, stepOf, asked, bodies, posts } = world;
  const step = await stepOf();
  proxy.plan(requests.posts, { kind: 'lost' });
  t.like(await t.throwsAsync(sendStep(linkedin, connection, step)), { accepted: 'unknown' });

  const finding = await linkedin.reconcile(connection, step);
  const [data = null] = finding.kind === 'absent' ? (finding.data ?? []) : [];
  const parts = step.parts.map((part) => Object.assign({}, part, { data }));
  const again = await t.throwsAsync(sendStep(linkedin, connection, { ...step, parts }));
  const [post, ...more] = await posts();
  t.deepEqual(more, []);
  t.like(again, { code: 'duplicate', existing: [{ remoteId: post?.remoteId }] });
  const [first, second] = bodies();
  t.regex(first ?? '', /"article":\{/v);
  t.is(second, first);
  t.deepEqual(asked, ['/tale', '/fox.png'], 'the page is not fetched again');
});

test('a post whose card LinkedIn refuses is published without it, with a warning', async (t) => {
  const { account, site, proxy, connection, stepOf, bodies } = await posting(t, page(tags));
  const body = '{"status":422,"message":"ERROR :: /content/article :: not allowed"}';
  proxy.plan(requests.posts, { kind: 'refused', answer: { status: 422, body } });
  const [sent] = await sendStep(linkedin, connection, await stepOf());

  t.is((await listed(account)).length, 1);
  t.is((await listed(account))[0]?.content, undefined);
  t.is(bodies().length, 2);
  const says = `LinkedIn refused the post with the card for "${site}/tale", and accepted it without one. LinkedIn refused the post (HTTP 422): "ERROR :: /content/article :: not allowed".`;
  t.true(sent?.warning?.endsWith(says), sent?.warning);
});

test('a doubted post whose card is refused fails', async (t) => {
  const world = await posting(t, page(tags), selfServe);
  const { proxy, connection, stepOf, posts } = world;
  const step = await stepOf();
  proxy.plan(requests.posts, { kind: 'lost' });
  await t.throwsAsync(sendStep(linkedin, connection, step));
  const finding = await linkedin.reconcile(connection, step);
  const [data = null] = finding.kind === 'absent' ? (finding.data ?? []) : [];
  const parts = step.parts.map((part) => Object.assign({}, part, { data }));
  proxy.plan(requests.posts, { kind: 'refused', answer: { status: 422 } });
  const error = await t.throwsAsync(sendStep(linkedin, connection, { ...step, parts }));

  t.like(error, { code: 'content_refused' });
  t.is((await posts()).length, 1);
});

test('a link ends before the punctuation around it', (t) => {
  for (const [text, link] of [
    ['Read https://a.example/x.', 'https://a.example/x'],
    ['(see https://a.example/x_(y)) and https://b.example', 'https://a.example/x_(y)'],
    ['„https://a.example/?q=1&r=2“, they say', 'https://a.example/?q=1&r=2'],
    ['今日はhttps://a.example/日本、どうぞ', 'https://a.example/日本'],
    ['HTTP://A.example/x!', 'HTTP://A.example/x'],
    ['https:// https://a.example', 'https://a.example'],
    ['a.example ftp://a.example xhttps://a.example', undefined],
  ] as const) {
    t.is(firstLink(text), link, text);
  }
});
