import test, { type ExecutionContext } from 'ava';
import type { Json } from '../../domain/json-schema.ts';
import { NetworkError, type PreparedPart } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork, interrupt, liveTexts } from '../support/networks.ts';
import { type PostSteps, postSteps } from '../support/post-steps.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

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
  const steps = await postSteps(t, { a: network }, database().url);
  const channel_ids = Object.values(steps.channels);
  const make = async () => {
    const post = await steps.create({ body: 'Hello', channel_ids, schedule_in_minutes: 0 });
    const go = await steps.claimOrThrow(post);
    return { post, id: go.targets[0]?.postChannelId ?? '' };
  };
  return { steps, make };
}

test('a lost response is settled by the refusal of the resend: the post is published once', async (t) => {
  const network = blindNetwork();
  const { steps, make } = await scheduled(t, network);
  const { post, id } = await make();
  network.fates.push({ kind: 'lost' });
  t.like(await steps.attempt(post, id), { kind: 'again' });
  steps.pass(2 * minute);

  t.like(await steps.attempt(post, id), { kind: 'done', status: 'published' });
  t.deepEqual(network.seen, [null, { isDoubted: true }]);
  t.deepEqual(liveTexts(network), ['Hello']);
  const [channel] = (await steps.show(post)).channels;
  t.like(channel, { status: 'published', url: network.live[0]?.sent.url });
});

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

test('a refusal of a text that was never in doubt fails the post', async (t) => {
  const network = blindNetwork();
  const { steps, make } = await scheduled(t, network);
  const first = await make();
  await steps.attempt(first.post, first.id);
  const second = await make();

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
  test(`a post in doubt that ${when} after its worker died before the resend ends unconfirmed`, async (t) => {
    const network = blindNetwork();
    const { steps, make } = await scheduled(t, network);
    const { post, id } = await make();
    network.fates.push({ kind: 'lost' });
    await steps.attempt(post, id);
    steps.pass(2 * minute);
    interrupt(network, 'upload', () => Promise.reject(new Error('The worker died.')));
    await steps.attempt(post, id);
    await act(steps, post);
    steps.pass(10 * minute);

    t.like(await steps.attempt(post, id), { kind: 'done', status: 'unconfirmed' });
    t.deepEqual(liveTexts(network), ['Hello']);
    t.is(network.sends.length, 1);
  });

  test(`a post in doubt that ${when} is not sent again and ends unconfirmed`, async (t) => {
    const network = blindNetwork();
    const { steps, make } = await scheduled(t, network);
    const { post, id } = await make();
    network.fates.push({ kind: 'lost' });
    await steps.attempt(post, id);
    await act(steps, post);
    steps.pass(2 * minute);

    t.like(await steps.attempt(post, id), { kind: 'done', status: 'unconfirmed' });
    t.deepEqual(liveTexts(network), ['Hello']);
    t.is(network.sends.length, 1);
    const [channel] = (await steps.show(post)).channels;
    t.like(channel, { status: 'unconfirmed', error_code: 'unconfirmed' });
  });
}

const lost = { accepted: 'unknown' } as const;
