import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { SandboxPost } from '../../sandbox/post.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { openStore } from '../../sandbox/store.ts';
import { beforeTests } from '../support/before-tests.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  blueskyClient,
  mastodonClient,
  openSandbox,
  postStatus,
  readPage,
} from './open-sandbox.ts';

/** The threads of a page, each as its posts' texts. */
function threadsOf(page: string): string[][] {
  const threads = [...page.matchAll(/<section class="thread"[\s\S]*?<\/section>/gv)];
  return threads.map(([thread]) =>
    [...thread.matchAll(/<p class="text">([\s\S]*?)<\/p>/gv)].map(([, text = '']) => text),
  );
}

test('before the first post the page says what to do', async (t) => {
  const { url } = await openSandbox(t);
  const page = await readPage(url);

  t.regex(page, /Schedule a post with the curl command that <code>npm start<\/code> printed/v);
  t.regex(page, /#sandbox-refuse[\s\S]*#sandbox-busy[\s\S]*#sandbox-lost/v);
});

test('the page shows the newest thread first, and each thread in order', async (t) => {
  const { url } = await openSandbox(t);
  const { statuses } = mastodonClient(url).v1;
  const agent = await blueskyClient(url);
  const first = await statuses.create({ status: 'm1' });
  const root = await agent.post({ text: 'b1' });
  const parent = await agent.post({ text: 'b2', reply: { root, parent: root } });
  await statuses.create({ status: 'alone' });
  const second = await statuses.create({ status: 'm2', inReplyToId: first.id });
  await statuses.create({ status: 'aside', inReplyToId: first.id });
  await agent.post({ text: 'b3', reply: { root, parent } });
  await statuses.create({ status: 'm3', inReplyToId: second.id });
  await statuses.create({ status: 'last' });

  t.deepEqual(threadsOf(await readPage(url)), [
    ['last'],
    ['m1', 'm2', 'm3', 'aside'],
    ['b1', 'b2', 'b3'],
    ['alone'],
  ]);
  t.deepEqual(threadsOf(await readPage(`${url}/bluesky/profile/${agent.did}`)), [
    ['b1', 'b2', 'b3'],
  ]);
});

test('any markup in a text stays text', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>"'&lt;`;
  const safe =
    '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;lt;';
  await postStatus(url, { status: evil });
  const facet = {
    index: { byteStart: 0, byteEnd: 8 },
    features: [
      { $type: 'app.bsky.richtext.facet#link' as const, uri: 'javascript:alert(1)' as const },
    ],
  };
  const { uri } = await agent.post({ text: evil, facets: [facet] });

  const answer = await fetch(url);
  t.deepEqual(threadsOf(await answer.text()), [[safe], [safe]]);
  t.regex(
    answer.headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self';/v,
  );
  const own = await readPage(`${url}/bluesky/profile/${agent.did}/post/${uri.split('/').at(-1)}`);
  t.false(own.includes('<script>alert'));
  t.regex(own, /<title>“&lt;script&gt;/v);
});

test('links, mentions and tags are links', async (t) => {
  const { url } = await openSandbox(t);
  const agent = await blueskyClient(url);
  const text = '👋 see https://example.com/a?b=1&c=2, @demo@sandbox and #Über';
  await postStatus(url, { status: text });
  const start = Buffer.byteLength('👋 ');
  const index = { byteStart: start, byteEnd: start + 'here'.length };
  const link = {
    $type: 'app.bsky.richtext.facet#link' as const,
    uri: 'https://example.com/b' as const,
  };
  await agent.post({
    text: '👋 here, not https://example.com/c',
    facets: [{ index, features: [link] }],
  });

  const page = await readPage(url);
  t.deepEqual(threadsOf(page), [
    [
      '👋 <a href="https://example.com/b" rel="nofollow noreferrer">here</a>, not https://example.com/c',
    ],
    [
      '👋 see <a href="https://example.com/a?b=1&amp;c=2" rel="nofollow noreferrer">https://example.com/a?b=1&amp;c=2</a>, <a href="/mastodon/@demo" rel="nofollow noreferrer">@demo@sandbox</a> and <a href="/mastodon/tags/%C3%BCber" rel="nofollow noreferrer">#Über</a>',
    ],
  ]);
  t.is(threadsOf(await readPage(`${url}/mastodon/tags/%C3%BCber`)).length, 1);
  t.is(threadsOf(await readPage(`${url}/mastodon/tags/other`)).length, 0);
});

test('a post’s live address shows it highlighted in its thread', async (t) => {
  const { url } = await openSandbox(t);
  const { statuses } = mastodonClient(url).v1;
  const agent = await blueskyClient(url);
  const first = await statuses.create({ status: 'one' });
  const second = await statuses.create({ status: 'two', inReplyToId: first.id });
  const root = await agent.post({ text: 'eins' });
  const reply = await agent.post({ text: 'zwei', reply: { root, parent: root } });
  const rkey = reply.uri.split('/').at(-1);
  const addresses = [
    [second.url ?? '', ['one', 'two'], 'two'],
    [`${url}/bluesky/profile/${agent.did}/post/${rkey}`, ['eins', 'zwei'], 'zwei'],
    [`${url}/bluesky/profile/demo.sandbox.test/post/${rkey}`, ['eins', 'zwei'], 'zwei'],
  ] as const;

  for (const [address, thread, text] of addresses) {
    const page = await readPage(address);
    const highlighted = /aria-current="true"[\s\S]*?<p class="text">(?<text>[^<]*)/v.exec(page);
    t.deepEqual(threadsOf(page), [[...thread]]);
    t.is(highlighted?.groups?.['text'], text);
  }
  t.is((await fetch(`${url}/mastodon/@demo/1`)).status, 404);
  t.is((await fetch(`${url}/bluesky/profile/did:plc:other/post/${rkey}`)).status, 404);
});

test('the page loads only its own files, and all of them exist', async (t) => {
  const { url } = await openSandbox(t);
  await postStatus(url, { status: 'hello' });
  const page = await readPage(url);
  const loaded = [...page.matchAll(/<(?:img|script|link)[^>]*?(?:src|href)="([^"]*)"/gv)];
  const addresses = new Set(loaded.map(([, address = '']) => address));

  t.true(addresses.size >= 4);
  for (const address of addresses) {
    t.regex(address, /^\/assets\//v);
    t.is((await fetch(url + address)).status, 200, address);
  }
});

test('an open page shows a new post at once', async (t) => {
  const { url } = await openSandbox(t);
  const answer = await fetch(`${url}/events`);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const greeting = await reader?.read();
  await postStatus(url, { status: 'hello' });
  const news = await reader?.read();

  t.is(answer.headers.get('content-type'), 'text/event-stream');
  t.false(greeting?.value?.includes('data:'));
  t.is(news?.value, 'data: change\n\n');
});

test('paging reaches the threads beyond the first page', async (t) => {
  const { url } = await openSandbox(t);
  for (let n = 0; n < 51; n += 1) {
    await postStatus(url, { status: `status ${n}` });
  }

  const first = await readPage(url);
  const second = await readPage(`${url}/?page=2`);

  t.is(threadsOf(first).length, 50);
  t.regex(first, /<a href="\?page=2">Older<\/a>/v);
  t.deepEqual(threadsOf(second), [['status 0']]);
});

const main = fileURLToPath(new URL('../../sandbox/main.ts', import.meta.url));

/** Starts a sandbox as a separate process; `url` is undefined when it ended before it was ready. */
async function spawnSandbox(t: ExecutionContext, settings: Record<string, string>) {
  const child = spawn(process.execPath, [main], { env: { ...process.env, ...settings } });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  const exited = once(child, 'close');
  const url = await new Promise<string | undefined>((resolve) => {
    const listen = (chunk: Buffer) => {
      output += chunk.toString();
      const ready = /ready at (?<url>\S+)\n/v.exec(output);
      if (ready) {
        resolve(ready.groups?.['url']);
      }
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.on('close', () => resolve(undefined));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const [code] = await exited;
    return code as number | null;
  };
  return { url: url ?? '', stop, exited, output: () => output };
}

const withKey = { requestInit: { headers: { 'Idempotency-Key': 'k' } } };

/** A sandbox that got a post and then stopped while its page was open. */
const stopped = beforeTests(test, async (scope) => {
  const dataFile = path.join(await temporaryFolder(scope), 'posts.json');
  const { url, stop } = await spawnSandbox(scope, { PUNCTUAL_SANDBOX_DATA: dataFile });
  const agent = await blueskyClient(url);
  const status = await mastodonClient(url).v1.statuses.create({ status: 'one' }, withKey);
  const { uri } = await agent.post({ text: 'two' });
  const rkey = uri.split('/').at(-1) ?? '';
  const events = await fetch(`${url}/events`);
  return { dataFile, agent, status, rkey, events, code: await stop() };
});

test('posts, keys and sessions survive a restart', async (t) => {
  const { dataFile, agent, status, rkey, code } = stopped();
  const { url } = await openSandbox(t, { dataFile });
  const page = await readPage(url);
  const again = await mastodonClient(url).v1.statuses.create({ status: 'one' }, withKey);
  const headers = { authorization: `Bearer ${agent.session?.accessJwt}` };
  const session = await fetch(`${url}/xrpc/com.atproto.server.getSession`, { headers });

  t.is(code, 0);
  t.true(page.includes(`id="mastodon-${status.id}"`) && page.includes(`id="bluesky-${rkey}"`));
  t.is(again.id, status.id);
  t.is(session.status, 200);
});

test('it stops at once with open pages, and with exit code 0', async (t) => {
  t.is(stopped().code, 0);
  await t.notThrowsAsync(stopped().events.text(), 'The stream must end without an error.');

  // With a grace period of an hour, a stop that waited for open pages would not end.
  const { url, close } = await startSandbox({ host: '127.0.0.1', port: 0, graceMs: 3_600_000 });
  const events = await fetch(`${url}/events`);
  await close();
  await t.notThrowsAsync(events.text());
});

test('an error names a port in use and a foreign data file', async (t) => {
  const { url } = await openSandbox(t);
  const file = path.join(await temporaryFolder(t), 'posts.json');
  await writeFile(file, '{"something":"else"}');
  const port = new URL(url).port;

  const refused = [
    [{ PORT: port }, `Port ${port} is in use`],
    [{ PUNCTUAL_SANDBOX_DATA: file }, file],
    [{ PORT: 'http' }, 'PORT must be a number'],
  ] as const;
  await Promise.all(
    refused.map(async ([settings, words]) => {
      const sandbox = await spawnSandbox(t, settings);
      const [code] = await sandbox.exited;
      t.is(code, 1);
      t.true(sandbox.output().includes(words), sandbox.output());
    }),
  );
});

test('the newest thousand posts are kept', async (t) => {
  const store = await openStore(undefined, {}, Date.now);
  const posts = Array.from({ length: 1005 }, (_, n): SandboxPost => ({
    network: 'mastodon',
    id: String(n),
    text: 'x',
    createdAt: new Date(n).toISOString(),
    replyTo: null,
  }));
  for (const post of posts) {
    await store.put([post]);
  }

  t.is(store.all().length, 1000);
  t.deepEqual([store.all().at(0)?.id, store.all().at(-1)?.id], ['5', '1004']);
});
