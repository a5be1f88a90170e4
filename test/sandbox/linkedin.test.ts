import test, { type ExecutionContext } from 'ava';
import { openSandbox, readPage } from './open-sandbox.ts';

const version = '202609';

const post = {
  author: 'urn:li:person:sandboxDemo',
  commentary: 'Hello',
  visibility: 'PUBLIC',
  distribution: {
    feedDistribution: 'MAIN_FEED',
    targetEntities: [],
    thirdPartyDistributionChannels: [],
  },
  lifecycleState: 'PUBLISHED',
  isReshareDisabledByAuthor: false,
};

type Given = {
  readonly method?: string;
  readonly path?: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
};

/** Calls the sandbox without a client. Given values replace those of a valid request. */
async function calling(t: ExecutionContext) {
  const { url } = await openSandbox(t);
  const call = async ({ method = 'POST', path = '/rest/posts', body, headers }: Given = {}) => {
    const answer = await fetch(`${url}/linkedin${path}`, {
      method,
      headers: {
        authorization: 'Bearer demo',
        'linkedin-version': version,
        'x-restli-protocol-version': '2.0.0',
        'content-type': 'application/json',
        ...headers,
      },
      ...(method === 'POST' && { body: JSON.stringify(body ?? post) }),
    });
    const text = await answer.text();
    const replyBody = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    return { status: answer.status, urn: answer.headers.get('x-restli-id') ?? '', replyBody };
  };
  return { url, call };
}

test('a post is created with its id in a header and nothing in the body', async (t) => {
  const { url, call } = await calling(t);
  const { status, urn, replyBody } = await call();
  t.deepEqual([status, replyBody], [201, {}]);
  t.regex(urn, /^urn:li:share:\d{19}$/);
  t.regex(await readPage(`${url}/linkedin/feed/update/${urn}/`), /“Hello” on LinkedIn/);
});

test('a request with a wrong or missing header is refused, as LinkedIn does', async (t) => {
  const { call } = await calling(t);
  const wrong: [Record<string, string>, number, string][] = [
    [{ authorization: '' }, 401, 'INVALID_ACCESS_TOKEN'],
    [{ authorization: 'Bearer other' }, 401, 'INVALID_ACCESS_TOKEN'],
    [{ 'linkedin-version': '' }, 400, 'INVALID_VALUE_FOR_FIELD'],
    [{ 'linkedin-version': '202401' }, 426, 'NONEXISTENT_VERSION'],
    [{ 'x-restli-protocol-version': '1.0.0' }, 400, 'INVALID_VALUE_FOR_FIELD'],
    [{ 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ];
  for (const [headers, status, code] of wrong) {
    t.like(await call({ headers }), { status, replyBody: { code } }, JSON.stringify(headers));
  }
});

test('an error names a field that LinkedIn does not have, or one that is missing', async (t) => {
  const { call } = await calling(t);
  const { author: _, ...anonymous } = post;
  const source = 'https://a.example';
  const wrong: [object, RegExp][] = [
    [{ ...post, title: 'x' }, /\/title :: unrecognized field found but not allowed/],
    [anonymous, /\/author :: field is required but not found/],
    [{ ...post, visibility: 'FRIENDS' }, /\/visibility/],
    [{ ...post, content: { poll: {} } }, /\/content\/poll :: unrecognized/],
    [{ ...post, content: { article: { title: 'A' } } }, /\/article\/source :: field is required/],
    [{ ...post, content: { article: { source } } }, /\/article\/title :: field is required/],
    [
      { ...post, content: { article: { source, title: 'A', url: source } } },
      /\/content\/article\/url :: unrecognized/,
    ],
    [{ ...post, content: { media: { id: 'x', alt: '' } } }, /\/content\/media\/alt ::/],
  ];
  for (const [body, words] of wrong) {
    const { status, replyBody } = await call({ body });
    t.is(status, 422);
    t.regex(String(replyBody['message']), words);
  }

  t.is((await call({ path: '/rest/posts?dryRun=true' })).status, 422);
  t.is((await call({ method: 'GET', path: '/rest/nothing' })).status, 404);
});

test('an unescaped reserved character cuts the text off, and the answer is still a success', async (t) => {
  const { url, call } = await calling(t);
  const { status, urn } = await call({ body: { ...post, commentary: 'Hi (all) of you' } });
  t.is(status, 201);
  const page = await readPage(`${url}/linkedin/feed/update/${urn}/`);
  t.regex(page, /<p class="text">Hi <\/p>/);
});

test('posting as another member is refused, and so is a page’s post for connections only', async (t) => {
  const { call } = await calling(t);
  t.is((await call({ body: { ...post, author: 'urn:li:person:other' } })).status, 403);
  t.is((await call({ body: { ...post, author: 'urn:li:organization:1001' } })).status, 403);
  const page = { ...post, author: 'urn:li:organization:1000' };
  t.is((await call({ body: { ...page, visibility: 'CONNECTIONS' } })).status, 400);
  t.is((await call({ body: page })).status, 201);
});

test('the same text a second time is a duplicate that names the first, and the page shows it struck through', async (t) => {
  const { url, call } = await calling(t);
  const { urn } = await call();
  const { status, replyBody } = await call();
  t.is(status, 422);
  t.regex(String(replyBody['message']), new RegExp(`duplicate of ${urn}$`));
  t.like(replyBody, { errorDetails: { inputErrors: [{ code: 'DUPLICATE_POST' }] } });
  t.regex(await readPage(url), /class="post linkedin refused"/);
});

test('an article appears as a card, and its thumbnail must be an existing image', async (t) => {
  const { url, call } = await calling(t);
  const article = { source: 'https://a.example', title: 'A tale' };
  const { status, urn } = await call({ body: { ...post, content: { article } } });
  t.is(status, 201);
  t.regex(
    await readPage(`${url}/linkedin/feed/update/${urn}/`),
    /<a class="card" href="https:\/\/a\.example"/v,
  );

  const thumbnail = 'urn:li:image:no';
  t.like(await call({ body: { ...post, content: { article: { ...article, thumbnail } } } }), {
    status: 400,
    replyBody: { code: 'INVALID_URN_ID' },
  });
});

test('a file must exist, be ready and belong to its author', async (t) => {
  const { url, call } = await calling(t);
  const begin = { initializeUploadRequest: { owner: post.author } };
  const { replyBody } = await call({ path: '/rest/images?action=initializeUpload', body: begin });
  const { image, uploadUrl } = replyBody['value'] as { image: string; uploadUrl: string };
  const withImage = { ...post, content: { media: { id: image } } };

  t.like(await call({ body: { ...post, content: { media: { id: 'urn:li:image:no' } } } }), {
    status: 400,
    replyBody: { code: 'INVALID_URN_ID' },
  });
  t.like(await call({ body: withImage }), {
    status: 400,
    replyBody: { code: 'MEDIA_ASSET_WAITING_UPLOAD' },
  });
  t.true(uploadUrl.startsWith(`${url}/linkedin/dms-uploads/`));
  t.is((await fetch(uploadUrl, { method: 'PUT', body: 'no picture' })).status, 201);
  const path = `/rest/images/${encodeURIComponent(image)}`;
  t.like(await call({ method: 'GET', path }), { replyBody: { status: 'PROCESSING_FAILED' } });
  t.like(await call({ body: withImage }), { replyBody: { code: 'MEDIA_ASSET_PROCESSING_FAILED' } });
  t.like(await call({ path: '/rest/images?action=initializeUpload', body: {} }), { status: 422 });
});

test('a self-serve app may post, but neither read nor comment', async (t) => {
  const { call } = await calling(t);
  const headers = { authorization: 'Bearer demo-self-serve', 'x-restli-method': 'FINDER' };
  const { status, urn } = await call({ headers });
  t.is(status, 201);
  const author = encodeURIComponent(post.author);
  const denied = { status: 403, replyBody: { code: 'ACCESS_DENIED' } };
  const list = { method: 'GET', path: `/rest/posts?q=author&author=${author}`, headers };
  t.like(await call(list), denied);
  const begin = { initializeUploadRequest: { owner: post.author } };
  const { replyBody } = await call({
    path: '/rest/images?action=initializeUpload',
    body: begin,
    headers,
  });
  const { image } = replyBody['value'] as { image: string };
  t.like(await call({ method: 'GET', path: `/rest/images/${image}`, headers }), denied);
  for (const api of ['rest', 'v2']) {
    const path = `/${api}/socialActions/${encodeURIComponent(urn)}/comments`;
    const body = { actor: post.author, object: urn, message: { text: 'Hi' } };
    t.like(await call({ path, body, headers }), denied);
    t.like(await call({ method: 'GET', path, headers }), denied);
  }
});
