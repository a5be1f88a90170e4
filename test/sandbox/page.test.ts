import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { startSandbox } from '../../sandbox/server.ts';
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
