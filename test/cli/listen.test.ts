import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { verifyWebhook } from '../../sdk/src/index.ts';
import type { Client } from '../support/client.ts';
import { sharedApi } from '../support/kit.ts';
import { noTemporal } from '../support/media-library.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startReceiver, type Received } from '../support/receiver.ts';
import { storeEvent } from '../support/seed-deliveries.ts';
import { tcpGate } from '../support/tcp-gate.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

type Shell = {
  /** Runs a command to its end. */
  readonly run: (...words: readonly string[]) => Promise<{ code: number | null; stdout: string }>;
  /** Starts a command. */
  readonly start: (...words: readonly string[]) => Started;
};

type Started = {
  /** What it has written to standard output and standard error so far. */
  readonly written: () => string;
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
};

/** Where a user of this workspace types `punctual …`. */
async function shellOf(
  t: ExecutionContext,
  client: Client,
  url = api.punctual.url,
): Promise<Shell> {
  const settings = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    XDG_CONFIG_HOME: await temporaryFolder(t),
    PUNCTUAL_API_KEY: client.key,
    PUNCTUAL_URL: url,
  };
  const spawned = (words: readonly string[]) => {
    const child = spawn(process.execPath, [main, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: settings,
    });
    t.teardown(() => child.kill('SIGKILL'));
    return child;
  };
  return {
    run: async (...words) => {
      const child = spawned(words);
      const exited = once(child, 'exit');
      const stdout = await text(child.stdout);
      await exited;
      return { code: child.exitCode, stdout };
    },
    start: (...words) => {
      const child = spawned(words);
      let written = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (chunk: string) => (written += chunk));
      }

      return {
        written: () => written,
        stop: async (signal) => {
          child.kill(signal);
          await once(child, 'exit');
          return child.exitCode;
        },
      };
    },
  };
}

const idOf = ({ body }: Received): string => JSON.parse(body).id;

test('listen forwards each event once, signed, although the receiver, the service or the command itself goes away', async (t) => {
  const client = await api.newClient();
  const store = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      await storeEvent(api.punctual, client.workspaceId, 'post.failed');
    }
  };
  await store(2); // Before the first start: not forwarded.
  const { hostname, port } = new URL(api.punctual.url);
  const service = await tcpGate(t, { host: hostname, port: Number(port) });
  const { run, start } = await shellOf(t, client, `http://${service.address}`);
  const receiver = await startReceiver(t, (n) => (n === 1 ? 500 : 204));
  const gate = await tcpGate(t, { host: '127.0.0.1', port: receiver.port });
  const words = ['listen', '--forward-to', `${gate.address}/hook`];
  const { stdout: secret } = await run('listen', '--print-secret');

  await gate.close();
  const first = start(...words);
  await poll(first.written, (seen) => seen.includes('Forwards the events of Test'));
  await store(3);
  await poll(first.written, (seen) => seen.includes('The receiver is not running (ECONNREFUSED)'));
  await gate.open();
  await poll(first.written, (seen) => (seen.match(/post\.failed/gv)?.length ?? 0) >= 3);

  await service.close();
  await store(2);
  await poll(first.written, (seen) => seen.includes('Trying again'));
  await service.open();
  await poll(first.written, (seen) => seen.match(/ 204 /gv)?.length === 4);
  await first.stop('SIGKILL');

  await store(2);
  const second = start(...words);
  await poll(second.written, (seen) => seen.match(/ 204 /gv)?.length === 2);
  t.is(await second.stop('SIGINT'), 0);

  const { events } = (await client.get('/events')).body;
  const sent = events.slice(2).map(({ id }: { readonly id: string }) => id);
  t.deepEqual(receiver.received.map(idOf), sent); // In their order, also the refused one.
  for (const { headers, body } of receiver.received) {
    const event = await verifyWebhook(body, headers, secret.trim());
    t.is(headers['service-event-id'], event.id);
    t.is(body, (await client.get(`/events/${event.id}`)).body.event.body);
  }
});

test('listen --since forwards earlier events, of the chosen types only, as JSON, and keeps its beginning while the receiver is away', async (t) => {
  const client = await api.newClient();
  for (const type of ['post.failed', 'channel.connected', 'post.failed'] as const) {
    await storeEvent(api.punctual, client.workspaceId, type);
  }

  const receiver = await startReceiver(t);
  const gate = await tcpGate(t, { host: '127.0.0.1', port: receiver.port });
  await gate.close();
  const { run, start } = await shellOf(t, client);
  const chosen = ['--since', '1h', '--events', 'channel.connected', '--json'];
  const to = ['listen', '--forward-to', `${gate.address}/`];
  const first = start(...to, ...chosen);
  await poll(first.written, (seen) => seen.includes('The receiver is not running'));
  await first.stop('SIGKILL');
  await gate.open();
  const listening = start(...to, ...chosen.slice(2)); // From the place that the first start has saved.
  const lines = await poll(
    () =>
      listening
        .written()
        .split('\n')
        .filter((line) => line.startsWith('{')),
    (found) => found.length === 1,
  );
  t.like(JSON.parse(lines[0] ?? ''), {
    event: { type: 'channel.connected', sequence: 2 },
    status: 204,
  });
  await listening.stop('SIGTERM');
  t.is((await run('trigger', 'channel.connected')).code, 0); // To the same receiver.
  t.is(receiver.received.length, 2);
});

test('trigger sends the example of an event, and fails if the receiver refuses it or there is no such event', async (t) => {
  const client = await api.newClient();
  const receiver = await startReceiver(t, (n) => (n === 1 ? 204 : 400));
  const { run } = await shellOf(t, client);
  const to = ['--forward-to', receiver.url];
  const { stdout: secret } = await run('listen', '--print-secret');
  const results = [
    await run('trigger', 'post.published', ...to),
    await run('trigger', 'post.partial', ...to, '--json'),
    await run('trigger', 'post.publish', ...to),
    await run('trigger', 'post.published'),
  ];
  t.deepEqual(
    results.map(({ code }) => code),
    [0, 1, 2, 2],
  );
  t.like(JSON.parse(results[1]?.stdout ?? ''), { status: 400, event: { type: 'post.partial' } });
  for (const { headers, body } of receiver.received) {
    const event = await verifyWebhook(body, headers, secret.trim());
    t.is(event.workspace_id, client.workspaceId);
  }
});
