import test from 'ava';
import { sweepGrants } from '../../services/channels/sweep-grants.ts';
import { clockStartMs } from '../support/attempt.ts';
import { freshDatabase } from '../support/database.ts';
import { granted } from './granted.ts';

// One database per test, because a sweep covers the channels of all workspaces.

const dayMs = 24 * 3_600_000;
const endsIn = (days: number) => ({ forMs: days * dayMs, endsAtMs: clockStartMs + days * dayMs });

test('the owner gets one event a week before the account has to be connected again', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told, connect, channel } = await granted(t, url, endsIn(60));
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), []);

  steps.pass(53 * dayMs + 1);
  await sweepGrants(steps.deps);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.at_risk']);

  await connect(tokens.grant({ forMs: 60 * dayMs, endsAtMs: clockStartMs + 113 * dayMs }));
  await sweepGrants(steps.deps);
  steps.pass(54 * dayMs);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.at_risk', 'channel.at_risk']);
  t.truthy(channel.id);
});

test('an expired access emits an event before a post fails', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, told, state } = await granted(t, url, endsIn(60));
  steps.pass(60 * dayMs);
  await sweepGrants(steps.deps);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.needs_reconnect']);
  t.like(await state(), { state: 'needs_reconnect' });
  t.regex((await state())?.error ?? '', /ended.*Connect the channel again/v);
});

test('an access that expires during its renewal emits no event', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, told, channel } = await granted(t, url, endsIn(60));
  const renew = (until: string) =>
    steps.deps.orm.em
      .fork()
      .execute(`update channel_grants set refreshing_until = ${until} where channel_id = ?`, [
        channel.id,
      ]);
  steps.pass(60 * dayMs);
  await renew(`clock_timestamp() + interval '1 hour'`);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), []);

  await renew('null');
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.needs_reconnect']);
});

test('a revoked access emits an event a day before the post that needs it', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told, channel } = await granted(t, url, { forMs: 3_600_000 });
  await steps.create({
    body: 'Later',
    channel_ids: [channel.id],
    schedule_in_minutes: 5 * 24 * 60,
  });
  tokens.isOver = true;
  steps.pass(3 * dayMs);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), []);

  steps.pass(1.5 * dayMs);
  await sweepGrants(steps.deps);
  await sweepGrants(steps.deps);
  t.deepEqual(await told(), ['channel.needs_reconnect']);
  t.is(tokens.spent.length, 1);
});

test('a grant that a refresh extends is refreshed, without an event', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told, channel } = await granted(t, url, {
    forMs: 3_600_000,
    endsAtMs: clockStartMs + 14 * dayMs,
  });
  const { refresh } = tokens.oauth;
  tokens.oauth.refresh = async (request) => ({
    ...(await refresh(request)),
    endsAtMs: steps.deps.now().getTime() + 14 * dayMs,
  });
  for (let day = 0; day < 30; day += 1) {
    steps.pass(dayMs);
    await sweepGrants(steps.deps);
  }

  t.deepEqual(await told(), []);
  t.true(tokens.spent.length >= 3 && tokens.spent.length <= 6, `${tokens.spent.length} refreshes`);
  t.truthy(channel.id);
});

test('the owner is warned once even if the network reports a slightly different end at each refresh', async (t) => {
  const { url } = await freshDatabase(t);
  const endsAtMs = clockStartMs + 14 * dayMs;
  const { steps, tokens, told } = await granted(t, url, { forMs: 3_600_000, endsAtMs });
  const { refresh } = tokens.oauth;
  const end = { atMs: endsAtMs };
  tokens.oauth.refresh = async (request) => {
    const fresh = await refresh(request);
    const nowMs = steps.deps.now().getTime();
    return { ...fresh, endsAtMs: nowMs + Math.floor((end.atMs - nowMs) / 1000) * 1000 + 37 };
  };
  const days = async (count: number) => {
    for (let half = 0; half < 2 * count; half += 1) {
      steps.pass(dayMs / 2 + 333);
      await sweepGrants(steps.deps);
    }
  };
  await days(13);
  t.deepEqual(await told(), ['channel.at_risk']);

  end.atMs += 30 * dayMs;
  await days(29); // The next grant ends 44 days after the beginning.
  t.deepEqual(await told(), ['channel.at_risk', 'channel.at_risk']);
});

test('an account without posts for years stays connected: its grant is refreshed once a month', async (t) => {
  const { url } = await freshDatabase(t);
  const { steps, tokens, told } = await granted(t, url, { forMs: 3_600_000 });
  for (let day = 0; day < 365; day += 5) {
    steps.pass(5 * dayMs);
    await sweepGrants(steps.deps);
  }

  t.deepEqual(await told(), []);
  t.true(tokens.spent.length >= 9 && tokens.spent.length <= 12, `${tokens.spent.length} refreshes`);
});
