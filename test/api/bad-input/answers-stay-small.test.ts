import test from 'ava';
import { longestText } from '../../../services/posts/post-request.ts';
import { longestTexts } from '../../../services/posts/content.ts';
import type { Reply } from '../../support/client.ts';
import { sharedApi } from '../../support/kit.ts';
import { rawCall } from '../../support/raw-call.ts';
import { addFakeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

async function sender() {
  const client = await api.newClient();
  const headers = { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' };
  const send = (body: string | Uint8Array<ArrayBuffer>, more = {}): Promise<Reply> =>
    rawCall(`${api.punctual.url}/api/v1/posts`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body,
    });
  return { client, send };
}

/** A readable answer: at most 20 details, and a message of a page. */
function isSmall({ body }: Reply): boolean {
  return body.details.length <= 20 && JSON.stringify(body).length < 20_000;
}

const wrong: Readonly<Record<string, string>> = {
  'a list of 500,000 numbers where ids stand': `{"channel_ids":[${'0,'.repeat(499_999)}0]}`,
  'a list of 9,000 numbers where ids stand': `{"channel_ids":[${'0,'.repeat(8999)}0]}`,
  'a list of 50 lists where ids stand': `{"channel_ids":[${'[],'.repeat(49)}[]]}`,
  'nine thousand unknown fields': `{${Array.from({ length: 9000 }, (_, n) => `"${n}":0`).join(',')}}`,
  'a field with a name of a megabyte': `{"${'x'.repeat(1_000_000)}":0}`,
  'a text for each of 9,000 channels': `{"channel_bodies":{${Array.from({ length: 9000 }, (_, n) => `"${n}":"x"`).join(',')}}}`,
  'lists in lists in lists': `{"thread":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
};
for (const [what, body] of Object.entries(wrong)) {
  test(`${what} is refused with a short answer`, async (t) => {
    const { send } = await sender();
    const reply = await send(body);

    t.is(reply.status, 400, JSON.stringify(reply.body).slice(0, 1000));
    t.is(reply.body.code, 'invalid_request');
    t.true(isSmall(reply), JSON.stringify(reply.body).slice(0, 1000));
    t.true(reply.body.details.length > 0);
  });
}

test('more than 10,000 values in a body, or 100 parameters, are refused before they are checked', async (t) => {
  const { send } = await sender();
  const many = await fetch(`${api.punctual.url}/api/v1/events?${'a&'.repeat(100)}`);
  t.regex(await many.text(), /A query may have 100 parameters/v);
  const { body } = await send(`{"x":{${Array.from({ length: 10_000 }, (_, n) => `"${n}":0`)}}}`);
  t.regex(body.error, /^The request body has more than 10,000 values/v);
});

test('a text has a maximum length: the body, a part of a thread and the text of one channel', async (t) => {
  const { client } = await sender();
  const channel = await addFakeChannel(api.punctual.deps, client.workspaceId);
  const longest = 'x'.repeat(longestText);
  const shapes = (text: string): [string, object][] => [
    ['/body', { body: text }],
    ['/thread/1', { thread: ['a', text] }],
    [`/channel_bodies/${channel}`, { channel_ids: [channel], channel_bodies: { [channel]: text } }],
  ];
  for (const [path, body] of shapes(longest)) {
    const { status } = await client.post('/posts', body);
    t.is(status, 201, path);
  }

  for (const [path, body] of shapes(`${longest}x`)) {
    const reply = await client.post('/posts', body);
    t.is(reply.status, 400, path);
    t.deepEqual(reply.body.details, [
      {
        path,
        message: `must have at most ${longestText} characters, and has ${longestText + 1}`,
        limit: longestText,
        actual: longestText + 1,
      },
    ]);
  }
});

test('all texts of a post together have a maximum length, however they are divided, in one call or several', async (t) => {
  const { client } = await sender();
  const channel = await addFakeChannel(api.punctual.deps, client.workspaceId);
  const long = 'x'.repeat(longestText);
  const full = { thread: [long, long, long, long, long, `${long}`] };
  const { status, body } = await client.post('/posts', full);
  t.is(status, 201);

  const more = [
    { ...full, body: 'y' },
    { ...full, channel_ids: [channel], channel_bodies: { [channel]: 'y' } },
  ];
  const message = `All texts and alt texts of a post together, the first text counted for each channel, may have ${longestTexts} characters; these have ${longestTexts + 1}.`;
  for (const each of more) {
    const reply = await client.post('/posts', each);
    t.is(reply.status, 400);
    t.is(reply.body.error, message);
  }

  const others = [await addFakeChannel(api.punctual.deps, client.workspaceId), channel];
  const half = { thread: [long, ...full.thread.slice(0, 5)] };
  const twice = await client.post('/posts', { ...half, channel_ids: others });
  t.is(twice.status, 400);
  t.is(twice.body.details[0].actual, longestTexts + longestText);

  const edited = await client.patch(`/posts/${body.post.id}`, { body: 'y' });
  t.is(edited.status, 400);
  t.is(edited.body.error, message);
});
