import test, { type ExecutionContext } from 'ava';
import type { LimitScope } from '../../domain/channel-error.ts';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel, type ClaimedPost } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork, liveTexts } from '../support/networks.ts';

// The order of a channel's overdue posts while rate limits come and go. Each post is attempted at the times that its
// attempts ask for, as Temporal does.

const minute = 60_000;
const hour = 60 * minute;
const database = beforeTests(test, freshDatabase);

/** Limits the attempts of a test, which would never end if posts waited for each other. */
const maxAttempts = 3000;

const limited = (retryAtMs?: number, limit: LimitScope = 'channel') =>
  new NetworkError('rate_limited', 'Slowly.', {
    accepted: 'no',
    limit,
    ...(retryAtMs !== undefined && { retryAtMs }),
  });

async function limitedChannel(t: ExecutionContext) {
  // A unique name, because some limits hold for all workspaces on a server or a network.
  const network = Object.assign(fakeNetwork(), { id: crypto.randomUUID() });
  const channel = await clockedChannel(t, network, database().url);
  const { deps, workspaceId, pass, newPost } = channel;
  const now = (): number => deps.now().getTime();
  return {
    network,
    now,
    /** Creates posts whose due times are a second apart. */
    due: async (contents: readonly (readonly string[])[]): Promise<ClaimedPost[]> => {
      const posts: ClaimedPost[] = [];
      for (const texts of contents) {
        posts.push(await newPost(texts));
        pass(1000);
      }

      return posts;
    },
    pass,
    /** Sets the error of each send; null accepts the post. */
    refuse: (why: () => NetworkError | null): void => {
      const { send } = network;
      network.send = async (...args) => {
        const error = why();
        if (error) {
          throw error;
        }

        return send(...args);
      };
    },
    /** Claims all posts two minutes later, as a worker does after an outage, and attempts them until all have ended. */
    untilEnded: async (posts: readonly ClaimedPost[]): Promise<void> => {
      pass(2 * minute);
      const claimed = [deps.now(), workspaceId];
      await deps.orm.em.execute('update posts set updated_at = ? where workspace_id = ?', claimed);
      const next = new Map(posts.map((post) => [post, now()]));
      for (let attempt = 0; next.size > 0 && attempt < maxAttempts; attempt += 1) {
        const [first] = [...next].toSorted(([, a], [, b]) => a - b);
        if (first) {
          const [post, atMs] = first;
          pass(Math.max(0, atMs - now()));
          const outcome = await post.attempt();
          if (outcome.kind === 'again') {
            next.set(post, now() + (outcome.inMs ?? 0));
          } else {
            next.delete(post);
          }
        }
      }
    },
  };
}

for (const [scope, retryAfterMs, lastsMs] of [
  ['channel', hour, 4.5 * hour],
  ['channel', undefined, 4.5 * minute],
  ['server', undefined, 4.5 * minute],
  ['network', undefined, 4.5 * minute],
] as const) {
  const end =
    retryAfterMs === undefined ? 'without a given end' : 'that is extended by an hour at a time';
  test(`posts keep their order through a ${scope} rate limit ${end}`, async (t) => {
    const { network, now, due, refuse, untilEnded } = await limitedChannel(t);
    const posts = await due([['Episode 1'], ['Episode 2'], ['Episode 3']]);
    const endMs = now() + lastsMs;
    refuse(() => (now() < endMs ? limited(retryAfterMs && now() + retryAfterMs, scope) : null));

    await untilEnded(posts);

    t.deepEqual(liveTexts(network), ['Episode 1', 'Episode 2', 'Episode 3']);
  });
}

test('a rate limited thread continues before the other posts of its channel', async (t) => {
  const { network, now, due, untilEnded } = await limitedChannel(t);
  const posts = await due([['1/3', '2/3', '3/3'], ['Other 1'], ['Other 2']]);
  network.fates.push(
    { kind: 'taken' },
    { kind: 'fails', error: limited(now() + 4 * minute) },
    { kind: 'taken' },
    { kind: 'fails', error: limited(now() + 8 * minute) },
  );

  await untilEnded(posts);

  t.deepEqual(liveTexts(network), ['1/3', '2/3', '3/3', 'Other 1', 'Other 2']);
});

test('threads that need several windows of a limit go out one after the other', async (t) => {
  const { network, now, due, refuse, untilEnded } = await limitedChannel(t);
  const threads = await due([1, 2, 3].map((n) => [1, 2, 3, 4].map((part) => `${n}.${part}`)));
  let [window, sent] = [-1, 0]; // The network accepts two posts an hour.
  refuse(() => {
    const current = Math.floor(now() / hour);
    [window, sent] = current === window ? [window, sent + 1] : [current, 1];
    return sent > 2 ? limited((current + 1) * hour) : null;
  });

  await untilEnded(threads);

  t.is(liveTexts(network).join(' '), '1.1 1.2 1.3 1.4 2.1 2.2 2.3 2.4 3.1 3.2 3.3 3.4');
});

test('a post near the end of its publish window goes out before posts that have a day left', async (t) => {
  const { network, now, due, pass, untilEnded } = await limitedChannel(t);
  const [first] = await due([['First']]);
  const dayEndMs = now() + 24 * hour;
  pass(23 * hour + 50 * minute);
  const others = await due(Array.from({ length: 40 }, (_, n) => [`Other ${n}`]));
  network.fates.push(
    { kind: 'fails', error: limited(now() + 3 * minute) },
    { kind: 'fails', error: limited(dayEndMs - minute) },
  );

  await untilEnded(first ? [first, ...others] : others);

  t.is((await first?.row())?.status, 'published');
  t.is(liveTexts(network)[0], 'First');
});
