import test, { type ExecutionContext } from 'ava';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { blueskyNetwork } from '../../networks/bluesky/adapter.ts';
import { fileBytes } from '../../networks/uploads/file-bytes.ts';
import type { Egress, EgressRequest, EgressResponse } from '../../runtime/egress/egress.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork } from '../support/networks.ts';

const minute = 60_000;
const hour = 60 * minute;
const database = beforeTests(test, freshDatabase);

type Write = { readonly rkey: string; readonly value: { text: string; createdAt: string } };
type Answer = { readonly status: number; readonly headers?: Record<string, string>; body?: object };

/**
 * A PDS that refuses some writes and accepts the others. Only the requests matter here; other tests use a real PDS.
 *
 * @param answers The responses to the first writes, in order.
 */
function pds(answers: readonly Answer[]) {
  const tried: Write[][] = [];
  const written: Write[] = [];
  const answer = ({ status, headers = {}, body = {} }: Answer): EgressResponse => {
    return { status, headers, body: Buffer.from(JSON.stringify(body)), truncated: false };
  };
  const egress: Egress = {
    request: async ({ url, body }: EgressRequest) => {
      await sleep(0);
      if (!url.endsWith('applyWrites')) {
        return answer({ status: 400, body: { error: 'RecordNotFound' } });
      }

      const { writes } = JSON.parse(`${body}`) as { writes: Write[] };
      const said = answers[tried.length] ?? { status: 200 };
      tried.push(writes);
      if (said.status === 200) {
        written.push(...writes);
      }

      return answer(said);
    },
    close: async () => undefined,
  };
  return { egress, tried, written };
}

/** A thread that is due on a Bluesky account. */
async function due(t: ExecutionContext, answers: readonly Answer[]) {
  const channel = await clockedChannel(t, blueskyNetwork, database().url);
  const { deps, workspaceId, pass } = channel;
  const server = pds(answers);
  const claims = Buffer.from(JSON.stringify({ exp: 4_000_000_000 })).toString('base64url');
  await connectChannel(deps.orm.em.fork(), deps.sealer, workspaceId, blueskyNetwork.id, {
    baseUrl: 'https://fake.example',
    remoteId: 'me',
    handle: '@me',
    credentials: { identifier: 'did:plc:me', appPassword: 'x' },
    session: { accessJwt: `a.${claims}.b` },
    settings: {},
  });
  const post = await channel.newPost(['One', 'Two']);
  const worker = channel.newWorker({ egress: server.egress });
  return { ...server, pass, now: deps.now, attempt: () => post.attempt(worker) };
}

test('a post that a limit delayed for ten hours is dated by its actual send', async (t) => {
  const { tried, written, pass, now, attempt } = await due(t, [{ status: 429 }]);
  t.like(await attempt(), { kind: 'again', code: 'rate_limited' });
  pass(10 * hour);
  t.like(await attempt(), { kind: 'done', status: 'published' });

  t.deepEqual(
    written.map(({ value }) => [value.text, Date.parse(value.createdAt)]),
    [
      ['One', now().getTime()],
      ['Two', now().getTime() + 1],
    ],
  );
  // Equal keys: a late write of the first request can only be refused.
  t.deepEqual(
    tried.map((writes) => writes.map(({ rkey }) => rkey)),
    [written, written].map((writes) => writes.map(({ rkey }) => rkey)),
  );
});

test('a post that never arrived is dated by its resend', async (t) => {
  const { tried, written, pass, now, attempt } = await due(t, [{ status: 502 }]);
  t.like(await attempt(), { kind: 'again', code: 'network_unavailable' });
  pass(2 * minute);
  t.like(await attempt(), { kind: 'done', status: 'published' });
  t.is(tried.length, 2);
  t.is(Date.parse(written[0]?.value.createdAt ?? ''), now().getTime());
});

/**
 * Runs an attempt whose network reads a file of 200 kB with `read`. @returns the worker's log lines about unreadable
 * files.
 */
async function linesOf(
  t: ExecutionContext,
  read: (bytes: AsyncGenerator<Buffer>) => Promise<unknown>,
  breaksOff = false,
): Promise<string[]> {
  const network = fakeNetwork();
  network.upload = async (_connection, { parts }) => {
    const media = parts.flatMap((part) => part.media);
    for (const file of media) {
      await read(fileBytes(file));
    }
    return media.map(({ name }) => name);
  };
  const channel = await clockedChannel(t, network, database().url);
  const { storage } = channel.deps;
  const open = storage.open.bind(storage);
  if (breaksOff) {
    storage.open = async (...args) =>
      (await open(...args))?.once('data', function (this: Readable) {
        this.destroy(new Error('The disk is gone.'));
      }) ?? null;
  }
  const bytes = Buffer.alloc(200_000, 'v');
  const facts = { name: 'clip.mp4', type: 'video/mp4', width: 10, height: 10 };
  const post = await channel.newPost(['Look'], [{ ...facts, bytes }]);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  await post.attempt(channel.newWorker({ log }));
  return lines.filter((line) => line.includes('a file cannot be read'));
}

test('a file that cannot be read is logged, and a file that is read partly is not', async (t) => {
  const whole = await linesOf(t, (bytes) => buffer(Readable.from(bytes)));
  const inPart = await linesOf(t, async (bytes) => {
    await bytes.next();
    await bytes.return(undefined);
  });
  const broken = await linesOf(t, (bytes) => buffer(Readable.from(bytes)), true);
  t.deepEqual([whole.length, inPart.length, broken.length], [0, 0, 1]);
});
