import test, { type ExecutionContext } from 'ava';
import type { Json } from '../../domain/json-schema.ts';
import { connectLinkedin } from '../../networks/linkedin/connect.ts';
import {
  NetworkError,
  type PreparedPart,
  type Connection,
  type Network,
} from '../../networks/network.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { waysOutTo } from '../networks/connection.ts';
import { linkedin, listed, selfServe, version } from '../networks/linkedin/bench.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { type PostSteps } from '../support/post-steps.ts';
import { onOneDatabase } from '../support/on-one-database.ts';

const minute = 60_000;
const { newSteps } = onOneDatabase(test);

const isDoubted = ({ data }: PreparedPart): boolean => data !== null;

/** A network that does not show its posts, and refuses a repeated text with the id of the post that has it. */
function blindNetwork() {
  const network = fakeNetwork(minute);
  const { send } = network;
  const seen: Json[] = [];
  return Object.assign(network, {
    /** The data that each send received from the one before it. */
    seen,
    send: async (...args: Parameters<typeof send>) => {
      const [, { parts }] = args;
      const [part] = parts;
      seen.push(part?.data ?? null);
      const equal = network.live.find(({ text }) => text === part?.text);
      if (part && equal) {
        network.sends.push(part.key);
        throw new NetworkError('duplicate', 'It has this text already.', {
          accepted: 'no',
          ...(isDoubted(part) && { existing: [equal.sent] }),
        });
      }

      return send(...args);
    },
    reconcile: async () => ({
      kind: 'absent' as const,
      data: [{ isDoubted: true }],
      isHidden: true,
    }),
  });
}

async function scheduled(t: ExecutionContext, network: ReturnType<typeof blindNetwork>) {
  const steps = await newSteps(t, { a: network });
  return { steps, make: () => steps.begin({ body: 'Hello' }) };
}

test('data of an earlier send survives a worker that dies before the resend', async (t) => {
  const network = blindNetwork();
  const { steps, make } = await scheduled(t, network);
  const { post, id } = await make();
  network.fates.push({ kind: 'lost' });
  await steps.attempt(post, id);
  steps.pass(2 * minute);
  const { upload } = network;
  network.upload = () => Promise.reject(new Error('The worker died.'));
  await steps.attempt(post, id);
  network.upload = upload;
  steps.pass(10 * minute);

  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.is(network.live.length, 1);
});

test('a refusal that names the live post of another post does not publish this one', async (t) => {
  const network = blindNetwork();
  const { steps, make } = await scheduled(t, network);
  const first = await make();
  t.like(await steps.attempt(first.post, first.id), { kind: 'done', status: 'published' });

  const second = await make();
  network.send = () => Promise.reject(new NetworkError('network_unavailable', 'Lost.', lost));
  await steps.attempt(second.post, second.id);
  steps.pass(2 * minute);
  const [equal] = network.live;
  network.send = () =>
    Promise.reject(
      new NetworkError('duplicate', 'It has this text already.', {
        accepted: 'no',
        existing: equal ? [equal.sent] : [],
      }),
    );

  t.like(await steps.attempt(second.post, second.id), { kind: 'done', status: 'failed' });
  const [channel] = (await steps.show(second.post)).channels;
  t.like(channel, { status: 'failed', error_code: 'duplicate' });
});

const endings: readonly {
  readonly when: string;
  readonly act: (steps: PostSteps, post: string) => Promise<unknown>;
}[] = [
  { when: 'was cancelled', act: (steps, post) => steps.cancel(post) },
  {
    when: 'was cancelled, edited and rescheduled',
    act: async (steps, post) => {
      await steps.cancel(post);
      await steps.edit(post, { body: 'New', schedule_in_minutes: 0 });
      await steps.claimOrThrow(post);
    },
  },
  { when: 'has passed its publish window', act: async (steps) => steps.pass(25 * 60 * minute) },
];
for (const { when, act } of endings) {
  for (const death of ['', ' after its worker died before the resend']) {
    test(`a post in doubt that ${when}${death} is not sent again and ends unconfirmed`, async (t) => {
      const network = blindNetwork();
      const { steps, make } = await scheduled(t, network);
      const { post, id } = await make();
      network.fates.push({ kind: 'lost' });
      await steps.attempt(post, id);
      if (death) {
        steps.pass(2 * minute);
        interrupt(network, 'upload', () => Promise.reject(new Error('The worker died.')));
        await steps.attempt(post, id);
      }

      await act(steps, post);
      steps.pass(10 * minute);
      t.like(await steps.attempt(post, id), { kind: 'done', status: 'unconfirmed' });
      t.deepEqual(liveTexts(network), ['Hello']);
      t.is(network.sends.length, 1);
      const [channel] = (await steps.show(post)).channels;
      t.like(channel, { status: 'unconfirmed', error_code: 'unconfirmed' });
    });
  }
}

const lost = { accepted: 'unknown' } as const;

/** The real adapter, with its requests routed to the sandbox. */
function reaching(http: ReturnType<typeof waysOutTo>): Network {
  const on = (connection: Connection): Connection =>
    Object.assign(connection, { http, downloads: http });
  return {
    ...linkedin,
    upload: (connection, step) => linkedin.upload(on(connection), step),
    send: (connection, ...rest) => linkedin.send(on(connection), ...rest),
    reconcile: (connection, step) => linkedin.reconcile(on(connection), step),
  };
}

/** A channel of an app without read permission. The sandbox shares the clock of the steps. */
async function selfServed(t: ExecutionContext, ...sites: readonly string[]) {
  const clock: { steps?: PostSteps } = {};
  const now = () => clock.steps?.deps.now().getTime() ?? Date.now();
  const { url } = await openSandbox(t, { now });
  const http = waysOutTo(t, url, ...sites);
  const steps = await newSteps(t, { linkedin: reaching(http) });
  clock.steps = steps;
  const login = { baseUrl: `${url}/linkedin`, accessToken: selfServe, version };
  const account = await connectLinkedin(http, login);
  const { orm, sealer } = steps.deps;
  const { workspaceId } = steps;
  const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, 'linkedin', account);
  const make = async (body: string, options: Record<string, string> = {}) => {
    const channel_options = { [id]: options };
    const begun = await steps.begin({ body, channel_ids: [id], channel_options });
    return { post: begun.post, target: begun.id };
  };
  return { steps, account, make };
}

for (const how of ['lost', 'error', 'late'] as const) {
  test(`a ${how} response without read permission ends as one published post with its address`, async (t) => {
    const { steps, account, make } = await selfServed(t);
    const { post, target } = await make(`Hello (all) #sandbox-${how}`);
    t.like(await steps.attempt(post, target), { kind: 'again', code: 'network_unavailable' });
    steps.pass(2 * minute);
    t.like(await steps.attempt(post, target), { kind: 'done', status: 'published' });

    const live = await listed(account);
    t.is(live.length, 1);
    const [channel] = (await steps.show(post)).channels;
    t.is(channel?.url, `${account.baseUrl}/feed/update/${live[0]?.id}/`);
  });
}

test('an equal post of last week makes the new one a duplicate, and is not taken for it', async (t) => {
  const { steps, account, make } = await selfServed(t);
  const first = await make('Every week');
  t.like(await steps.attempt(first.post, first.target), { kind: 'done', status: 'published' });
  steps.pass(7 * 24 * 60 * minute);
  const second = await make('Every week');
  t.like(await steps.attempt(second.post, second.target), { kind: 'done', status: 'failed' });

  const [channel] = (await steps.show(second.post)).channels;
  t.like(channel, { error_code: 'duplicate', url: null });
  t.is((await listed(account)).length, 1);
});

test('when the first comment is refused, the post stays live and the error names its address', async (t) => {
  const { steps, account, make } = await selfServed(t);
  const { post, target } = await make('The post', { first_comment: 'More below' });
  t.like(await steps.attempt(post, target), { kind: 'done', status: 'failed' });

  const [live] = await listed(account);
  const [channel] = (await steps.show(post)).channels;
  t.like(channel, { error_code: 'permission_missing' });
  t.regex(
    channel?.error ?? '',
    /^The first comment did not go out: .*Community Management API.*\(The post: http/,
  );
  t.true(channel?.error?.includes(live?.id ?? 'nothing'));
});
