import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { sharedApi, type SharedApi } from '../../support/kit.ts';
import { noTemporal } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { beginUpload, head, write } from '../media/support/raw-upload.ts';

const test = needs('postgres');
const perKey = sharedApi(test, { temporalEnv: noTemporal, mostPerKey: 3 });
const direct = sharedApi(test, { temporalEnv: noTemporal, mostPerAddress: 5 });
const behindProxy = sharedApi(test, {
  temporalEnv: noTemporal,
  mostPerAddress: 3,
  trustedProxies: 1,
});

/**
 * Three uploads that never end. An upload that was refused, because another call of the test held its slot, is started
 * again.
 */
function threeUploads(begin: () => ReturnType<typeof beginUpload>) {
  const uploads = new Set<ReturnType<typeof beginUpload>>();
  const fill = async (): Promise<void> => {
    while (uploads.size < 3) {
      const upload = begin();
      uploads.add(upload);
      upload.once('response', () => uploads.delete(upload));
      await write(upload, head);
    }
  };
  return { uploads, fill };
}

test('a key with too many requests under way gets 429 until some have ended, while other keys are served', async (t) => {
  const [client, other] = [await perKey.newClient(), await perKey.newClient()];
  const { uploads, fill } = threeUploads(() => beginUpload(t, perKey.punctual, client));
  const refused = await poll(
    async () => {
      await fill();
      return client.get('/me');
    },
    ({ status }) => status !== 200,
  );
  t.is(refused.status, 429);
  t.like(refused.body, { code: 'rate_limited' });
  t.regex(refused.body.error, /^Too many requests with this API key are under way/v);
  t.regex(refused.headers.get('retry-after') ?? '', /^\d+$/v);
  t.is((await other.get('/me')).status, 200);

  for (const each of uploads) {
    each.destroy();
  }

  const taken = await poll(
    () => client.get('/me'),
    ({ status }) => status === 200,
  );
  t.is(taken.status, 200);
});

test('an address with too many connections gets another one only after one is closed', async (t) => {
  const sockets: Socket[] = [];
  for (let count = 0; count < 5; count += 1) {
    sockets.push(await dial(t, direct));
  }

  t.is(await health(await dial(t, direct)), '');
  t.regex(await health(sockets[0]), /^HTTP\/1\.1 200 /v);
  sockets[1]?.destroy();
  const answer = await poll(
    async () => health(await dial(t, direct)),
    (text) => text !== '',
  );
  t.regex(answer, /^HTTP\/1\.1 200 /v);
});

test('behind a proxy the limit counts the requests of each client, not the connections of the proxy', async (t) => {
  const client = await behindProxy.newClient();
  const { fill } = threeUploads(() =>
    beginUpload(t, behindProxy.punctual, client, { 'x-forwarded-for': '203.0.113.1' }),
  );
  const refused = await poll(
    async () => {
      await fill();
      return health(await dial(t, behindProxy), '203.0.113.1');
    },
    (text) => !text.startsWith('HTTP/1.1 200 '),
  );
  t.regex(refused, /^HTTP\/1\.1 429 .*\r\nRetry-After: \d+/sv);
  t.regex(refused, /Too many requests from your address are under way/v);
  t.regex(await health(await dial(t, behindProxy), '203.0.113.2'), /^HTTP\/1\.1 200 /v);
});

async function dial(t: ExecutionContext, { punctual }: SharedApi): Promise<Socket> {
  const { hostname, port } = new URL(punctual.url);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** The response on a connection; empty when it is closed without one. */
async function health(socket: Socket | undefined, client = '203.0.113.9'): Promise<string> {
  let text = '';
  socket?.on('data', (chunk) => (text += String(chunk)));
  socket?.write(
    `GET /healthz HTTP/1.1\r\nhost: a\r\nx-forwarded-for: ${client}\r\nconnection: close\r\n\r\n`,
  );
  if (socket && !socket.destroyed) {
    await once(socket, 'close');
  }

  return text;
}
