import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { readRestoreCounter } from '../../db/restore-counter.ts';
import { openNetworks } from '../../networks/registry.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { loadStoredCounter } from '../../temporal/namespace.ts';
import { sweepScheduleId } from '../../workflows/messages.ts';
import { adminOf } from '../cli/admin/admin.ts';
import { egressTo } from '../networks/connection.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { backups, nullWhileAway } from '../support/backups.ts';
import { newClient, type Client } from '../support/client.ts';
import { upload } from '../support/media-library.ts';
import { playableMp4 } from '../support/mp4.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, type Punctual } from '../support/punctual.ts';
import { rawCall } from '../support/raw-call.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ended, spawnWorker } from '../support/worker-process.ts';

const test = needs('temporal');
const second = 1000;
const platforms = ['mastodon', 'bluesky', 'linkedin', 'x', 'youtube'] as const;

/** A Punctual with a worker process, an account on each network of a sandbox, and the test's operations. */
async function world(t: ExecutionContext) {
  const dataFile = path.join(await temporaryFolder(t), 'sandbox.json');
  const { url } = await openSandbox(t, { dataFile });
  const allowPorts = [Number(new URL(url).port)];
  const punctual = await startApi(t, { allowPorts, sandboxUrl: url });
  const client = await newClient(punctual);
  const { connectors } = openNetworks({});
  const { orm, sealer } = punctual.deps;
  const channels: { platform: string; id: string }[] = [];
  for (const platform of platforms) {
    const connector = connectors[platform]!;
    const account = await connector.connect(egressTo(t, url), connector.sandbox(url));
    const { workspaceId } = client;
    const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, platform, account);
    channels.push({ platform, id });
  }

  const video = await videoOf(punctual, client);
  return {
    punctual,
    startWorker: () =>
      spawnWorker(t, punctual, allowPorts, undefined, {
        PUNCTUAL_SANDBOX_URL: url,
        PUNCTUAL_X_POSTS_PER_WORKSPACE_PER_DAY: '0',
        PUNCTUAL_YOUTUBE_UNITS_PER_WORKSPACE_PER_DAY: '0',
      }),
    /** Makes a post on each network. @returns their ids by text. */
    make: async (name: string, dueMs: number): Promise<[text: string, id: string][]> =>
      Promise.all(
        channels.map(async ({ platform, id }): Promise<[string, string]> => {
          const body = `Post ${name} on ${platform}`;
          const files =
            platform === 'youtube' ? { media_ids: [video], video: { made_for_kids: false } } : {};
          const scheduled_at = new Date(dueMs).toISOString();
          const post = { body, channel_ids: [id], scheduled_at, ...files };
          const { status, body: answer } = await client.post('/posts', post);
          t.is(status, 201, JSON.stringify(answer));
          return [body, answer.post.id];
        }),
      ),
    /** Repeats a call, because the first ones after the database's return fail. */
    show: async (id: string) =>
      (
        await poll(
          () => client.get(`/posts/${id}`),
          ({ status }) => status < 500,
        )
      ).body.post,
    move: (id: string, dueMs: number) =>
      poll(
        () => client.patch(`/posts/${id}`, { scheduled_at: new Date(dueMs).toISOString() }),
        ({ status }) => status < 500,
      ),
    /** The posts on the networks with this text. */
    liveCount: async (text: string): Promise<number> => {
      const { posts } = JSON.parse(await readFile(dataFile, 'utf8'));
      return posts.filter((post: object) => JSON.stringify(post).includes(`${text}"`)).length;
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

async function videoOf(punctual: Punctual, client: Client): Promise<string> {
  const reply = await upload(punctual, client, {
    bytes: await playableMp4(4),
    fileName: 'video.mp4',
  });
  return reply.body.media.id;
}

const storedCount = async ({ orm, temporal }: Punctual): Promise<number> => {
  const { installation } = await readRestoreCounter(orm);
  return (await loadStoredCounter(temporal.client, installation)) ?? 0;
};

/** Lets the worker count once more, as it does each minute. */
async function countAgain(punctual: Punctual): Promise<void> {
  const before = await storedCount(punctual);
  await punctual.orm.em.fork().execute('update installation set beat_at = null');
  await poll(
    () => storedCount(punctual),
    (count) => count > before,
  );
}

/** Sweeps often until the test ends; the product sweeps each minute. */
function sweepOften(t: ExecutionContext, { temporal }: Punctual): void {
  const sweeping = setInterval(() => {
    void temporal.client.schedule
      .getHandle(sweepScheduleId)
      .trigger()
      .catch(() => undefined);
  }, 3 * second);
  t.teardown(() => clearInterval(sweeping));
}

/** Waits until the worker says that the database is older, and ends. */
async function noticed(
  t: ExecutionContext,
  { punctual }: World,
  worker: ReturnType<World['startWorker']>,
): Promise<void> {
  await ended(worker.child);
  t.regex(worker.output(), /The database is older than its workflows/v);
  const status = await rawCall(`${punctual.url}/status`);
  t.regex(status.body.worker, /restore finish/v);
}

/** How old the database is that replaces the current one, and how many counts of the workers it lacks. */
const failovers = [
  { seconds: 5, counts: 0 },
  { seconds: 30, counts: 0 },
  // A count a minute; the wait is shorter.
  { seconds: 100, counts: 2 },
];

for (const { seconds, counts } of failovers) {
  test.serial(
    `a database that is ${seconds} s older, under load and with all processes running, publishes nothing twice on any network`,
    async (t) => {
      t.timeout(600_000);
      const my = await world(t);
      const { punctual, make, move, show, liveCount } = my;
      const { take, putBack } = await backups(t, punctual);
      const worker = my.startWorker();
      await worker.logged('polling');
      sweepOften(t, punctual);
      await countAgain(punctual);
      const waitMs = Math.min(seconds, 30) * second;
      const firstMs = Date.now() + 30 * second;
      const posts = new Map(await make('early', Date.now()));
      const later = await make('later', firstMs + 3_600_000);
      for (const nth of ['1', '2', '3', '4', '5']) {
        const due = await make(nth, firstMs + (Number(nth) - 1) * (waitMs / 4));
        due.forEach(([text, id]) => posts.set(text, id));
      }

      await sleep(firstMs - 2 * second - Date.now());
      await take();
      const takenMs = Date.now();
      for (let count = 0; count < counts; count += 1) {
        await countAgain(punctual);
      }

      // On a busy machine, the posts go out late.
      const first = posts.get('Post 1 on bluesky') ?? '';
      await poll(
        () => show(first),
        ({ status }) => status === 'published',
      );
      await sleep(takenMs + waitMs - Date.now());
      await putBack();

      await noticed(t, my, worker);
      await adminOf(punctual).call('restore', 'finish');
      await my.startWorker().logged('polling');
      for (const [text, id] of later) {
        await move(id, Date.now());
        posts.set(text, id);
      }

      for (const [text, id] of posts) {
        const { status, channels } = await poll(
          () => show(id),
          (post) => post.status === 'published' || post.status === 'failed',
        );
        const live = await liveCount(text);
        t.true(live <= 1, `${text}: ${live} times`);
        t.true(status === 'failed' || live === 1, text);
        t.regex(channels[0].status, /^(?:published|unconfirmed)$/v, text);
      }

      for (const [text, id] of later) {
        t.is((await show(id)).status, 'published', text);
      }

      t.is((await readRestoreCounter(punctual.orm).catch(nullWhileAway))?.behindSince, null);
    },
  );
}
