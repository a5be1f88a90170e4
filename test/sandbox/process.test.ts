import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import type { Post } from '../../sandbox/post.ts';
import { openStore } from '../../sandbox/store.ts';
import { blueskyClient, mastodonClient, openSandbox, readPage } from './open-sandbox.ts';

const main = fileURLToPath(new URL('../../sandbox/main.ts', import.meta.url));

/** A sandbox in a process of its own; `url` is undefined when it ended without getting ready. */
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

async function temporaryFile(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'posts.json');
}

test('posts, keys and sessions survive a restart', async (t) => {
  const file = await temporaryFile(t);
  const settings = { PUNCTUAL_SANDBOX_DATA: file };
  const withKey = { requestInit: { headers: { 'Idempotency-Key': 'k' } } };
  const before = await spawnSandbox(t, settings);
  const agent = await blueskyClient(before.url);
  const status = await mastodonClient(before.url).v1.statuses.create({ status: 'one' }, withKey);
  const { cid } = await agent.post({ text: 'two' });
  const code = await before.stop();

  const after = await spawnSandbox(t, settings);
  const page = await readPage(after.url);
  const again = await mastodonClient(after.url).v1.statuses.create({ status: 'one' }, withKey);
  const headers = { authorization: `Bearer ${agent.session?.accessJwt}` };
  const session = await fetch(`${after.url}/xrpc/com.atproto.server.getSession`, { headers });

  t.is(code, 0);
  t.true(page.includes(`id="mastodon-${status.id}"`) && page.includes(`data-v="${cid}"`));
  t.is(again.id, status.id);
  t.is(session.status, 200);
});

test('it stops at once with open pages, and with success', async (t) => {
  const sandbox = await spawnSandbox(t, {});
  const events = await fetch(`${sandbox.url}/events`);
  const startedMs = performance.now();

  t.is(await sandbox.stop(), 0);
  t.true(performance.now() - startedMs < 3000);
  await t.notThrowsAsync(events.text(), 'The stream ends and does not break.');
});

test('a taken port and a foreign data file are named', async (t) => {
  const { url } = await openSandbox(t);
  const file = await temporaryFile(t);
  await writeFile(file, '{"something":"else"}');
  const port = new URL(url).port;

  for (const [settings, words] of [
    [{ PORT: port }, `Port ${port} is in use`],
    [{ PUNCTUAL_SANDBOX_DATA: file }, file],
    [{ PORT: 'http' }, 'PORT must be a number'],
  ] as const) {
    const sandbox = await spawnSandbox(t, settings);
    const [code] = await sandbox.exited;
    t.is(code, 1);
    t.true(sandbox.output().includes(words), sandbox.output());
  }
});

test('the newest thousand posts are kept', async (t) => {
  const store = await openStore(undefined);
  const posts = Array.from({ length: 1005 }, (_, n): Post => ({
    network: 'mastodon',
    id: String(n),
    text: 'x',
    createdAt: new Date(n).toISOString(),
    replyTo: null,
    visibility: 'public',
    language: null,
    key: null,
  }));
  for (const post of posts) {
    await store.put([post]);
  }

  t.is(store.all().length, 1000);
  t.deepEqual([store.all().at(0)?.id, store.all().at(-1)?.id], ['5', '1004']);
});
