import { request } from 'node:http';
import { json as jsonOf } from 'node:stream/consumers';
import test from 'ava';
import type { Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { rawCall } from '../../support/raw-call.ts';
import { storedRows } from '../../support/stored-rows.ts';
import { silentPort, type Owned } from '../owned.ts';
import { allAreRefused, type BadCall } from './refuse.ts';

/** Not JSON, not an object, or an object with names that are special in JavaScript. */
const documents: readonly (readonly [title: string, body: string])[] = [
  ['nothing', ''],
  ['white space', ' \n\t'],
  ['null', 'null'],
  ['a text', '"body"'],
  ['a list', '[]'],
  ['a brace', '{'],
  ['a comment', '{/* */}'],
  ['two documents', '{}{}'],
  ['NaN', '{"x":NaN}'],
  ['NUL inside of a text', '{"x":"a\0b"}'],
  ['a broken escape', String.raw`{"x":"\x41"}`],
  ['a form', 'body=x&url=y'],
  ['an unknown field', '{"colour":"red"}'],
  ['a name of half a surrogate pair', String.raw`{"\ud800":1}`],
  ['__proto__', '{"__proto__":{"body":"x"}}'],
  ['an escaped __proto__', String.raw`{"\u005f_proto__":{"body":"x"}}`],
  ['constructor', '{"constructor":{"prototype":{"body":"x"}}}'],
  ['toString', '{"toString":"x"}'],
  ['an unknown field twice', '{"x":1,"x":2}'],
  ['lists in lists, 100,000 deep', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['lists that never end', `{"x":${'['.repeat(100_000)}`],
  ['objects in objects, deep', `{"x":${'{"x":'.repeat(50_000)}1${'}'.repeat(50_000)}}`],
  ['a number of 100,000 digits', `{"x":${'9'.repeat(100_000)}}`],
  ['10,000 unknown fields', JSON.stringify(Object.fromEntries(Array(10_000).fill(0).entries()))],
];

const api = sharedApi(test, { allowPorts: [silentPort] });

/** The calls with a body, by method and path. */
const calls = ({ draft, failed, webhook }: Owned): readonly (readonly [string, string])[] => [
  ['POST', '/posts'],
  ['POST', '/posts/validate'],
  ['PATCH', `/posts/${draft}`],
  ['POST', `/posts/${failed}/settle`],
  ['POST', '/analytics/refresh'],
  ['POST', '/webhooks'],
  ['PATCH', `/webhooks/${webhook}`],
];

const callsWithOptionalBody = ({ failed }: Owned): ReturnType<typeof calls> => [
  ['POST', `/posts/${failed}/copy`],
  ['POST', `/posts/${failed}/unpublish`],
];

test('every call with a body refuses anything but a JSON object, and unknown fields', (t) =>
  allAreRefused(t, api, (owned) =>
    [
      ...calls(owned).flatMap((call) => documents.map((document) => ({ call, document }))),
      ...callsWithOptionalBody(owned).flatMap((call) =>
        documents.filter(([, body]) => body !== '').map((document) => ({ call, document })),
      ),
    ].map(({ call: [method, path], document: [title, body] }): BadCall => ({
      title,
      method,
      path,
      body,
      code: 'invalid_request',
    })),
  ));

const encodings: readonly (readonly [string, Buffer])[] = [
  ['Latin-1', Buffer.from('{"body":"café"}', 'latin1')],
  ['UTF-16', Buffer.from('{"body":"x"}', 'utf16le')],
  ['an overlong slash', Buffer.from('7b22626f6479223a22c0af227d', 'hex')],
  ['a surrogate in UTF-8', Buffer.from('7b22626f6479223a22eda080227d', 'hex')],
  ['a cut emoji', Buffer.from('7b22626f6479223a22f09f98227d', 'hex')],
];

test('every call with a body refuses a body that is not UTF-8', (t) =>
  allAreRefused(t, api, (owned) =>
    calls(owned).flatMap(([method, path]) =>
      encodings.map(([title, bytes]): BadCall => {
        const body = new Uint8Array(bytes);
        return { title, method, path, body, code: 'invalid_request' };
      }),
    ),
  ));

const types = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/merge-patch+json',
  'application/vnd.api+json',
  'application/json; charset=utf-16',
  '*/*',
];

test('every call with a body refuses another content type or character set', (t) =>
  allAreRefused(t, api, (owned) =>
    calls(owned).flatMap(([method, path]) =>
      types.map((type): BadCall => ({
        title: type,
        method,
        path,
        headers: { 'content-type': type },
        body: '{"body":"x"}',
        code: 'unsupported_media_type',
      })),
    ),
  ));

test('every call without a body refuses one', (t) =>
  allAreRefused(t, api, ({ scheduled, failed, webhook, delivery }) =>
    [
      `/posts/${scheduled}/cancel`,
      `/posts/${failed}/retry`,
      `/webhooks/${webhook}/test`,
      `/webhooks/${webhook}/rotate`,
      `/webhooks/${webhook}/replay?since=2020-01-01T00:00:00Z`,
      `/webhooks/${webhook}/deliveries/${delivery}/replay`,
    ].flatMap((path) =>
      ['{"x":1}', '[1]', '"x"', '1', '{', 'null', '{"__proto__":1}'].map((body): BadCall => ({
        title: body,
        method: 'POST',
        path,
        body,
        code: 'invalid_request',
      })),
    ),
  ));

/** Sends bodies to `POST /posts` of a new workspace. */
async function sender() {
  const { key, workspaceId } = await api.newClient();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const send = (body: Buffer, more: Record<string, string> = {}): Promise<Reply> =>
    rawCall(`${api.punctual.url}/api/v1/posts`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: new Uint8Array(body),
    });
  const posts = async () => (await storedRows(api.punctual.orm, workspaceId)).posts;
  return { headers, send, posts };
}

const post = (text: Buffer): Buffer =>
  Buffer.concat([Buffer.from('{"body":"'), text, Buffer.from('"}')]);

test('UTF-8 is read correctly in pieces that cut a character, and after a byte order mark', async (t) => {
  const { headers, send } = await sender();
  const text = 'café 😀 � \ufeff 日本';
  const whole = post(Buffer.from(text));
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), whole]);
  for (const reply of [
    await send(whole),
    await send(marked),
    await send(whole, { 'content-encoding': 'Identity' }),
  ]) {
    t.is(reply.status, 201);
    t.is(reply.body.post.body, text);
  }

  const sending = request(`${api.punctual.url}/api/v1/posts`, { method: 'POST', headers });
  const answer = new Promise<unknown>((resolve, reject) => {
    sending.on('response', (response) => resolve(jsonOf(response))).on('error', reject);
  });
  for (const byte of whole) {
    sending.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }

  sending.end();
  t.like(await answer, { post: { body: text } });
});

test('a field named __proto__ is refused in every spelling, and a text that contains it is accepted', async (t) => {
  const { posts, send } = await sender();
  for (const name of ['__proto__', '\\u005f_proto__', '__\\u0070\\u0072ot\\u006F_\\u005F']) {
    for (const body of [`{"body":"x","${name}":{}}`, `{"body":"x","video":{"${name}" : {}}}`]) {
      const reply = await send(Buffer.from(body));
      t.is(reply.status, 400, body);
      t.regex(reply.body.error, /__proto__/v);
    }
  }

  t.is(await posts(), 0);
  const text = 'What "__proto__": is for. \\u005f';
  const reply = await send(Buffer.from(JSON.stringify({ body: text })));
  t.is(reply.body.post.body, text);
  t.is((await send(Buffer.from('{"body":"x","constructor":{"prototype":{}}}'))).status, 400);
});

test('brackets, quotes and backslashes inside a text do not count as nesting, and the rest of the body does', async (t) => {
  const { posts, send } = await sender();
  const brackets = '[{'.repeat(100);
  const texts = [brackets, `"${brackets}`, `\\"${brackets}`, `${brackets}\\`, `\\${brackets}"`];
  for (const text of texts) {
    const reply = await send(Buffer.from(JSON.stringify({ body: text })));
    t.is(reply.body.post?.body, text, JSON.stringify(reply.body));
    const nested = `{"body":${JSON.stringify(text)},"video":${'['.repeat(64)}${']'.repeat(64)}}`;
    const refused = await send(Buffer.from(nested));
    t.is(refused.status, 400);
    t.regex(refused.body.error, /64 levels/v);
  }

  t.is(await posts(), texts.length);
});
