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
