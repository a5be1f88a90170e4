import test, { type ExecutionContext } from 'ava';
import { Channel } from '../../db/entities/channels.ts';
import { NetworkError } from '../../networks/network.ts';
import { checkChannel, throttledCheck } from '../../services/channels/check-channel.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { checkValues } from '../../services/channels/create-link.ts';
import { beforeTests } from '../support/before-tests.ts';
import { freshDatabase } from '../support/database.ts';
import { granted } from './granted.ts';

const database = beforeTests(test, freshDatabase);
const hourMs = 3_600_000;

const refused = new NetworkError('access_lost', 'They do not know this token.', { accepted: 'no' });
const away = new NetworkError('network_unavailable', 'They are away.', { accepted: 'no' });

/** @param answers Results of the checks, in order: an error, or the account's id. */
async function checkable(t: ExecutionContext, forMs = 10 * hourMs) {
  const world = await granted(t, database().url, { forMs });
  const { steps, channel } = world;
  const answers: (Error | string)[] = [];
  const names: unknown[] = [];
  const checks = {
    a: async () => {
      const answer = answers.shift() ?? 'me';
      if (answer instanceof Error) {
        throw answer;
      }

      return { remoteId: answer, handle: '@me', displayName: names.shift() };
    },
  };
  const key = { workspaceId: steps.workspaceId, channelId: channel.id };
  return {
    ...world,
    answers,
    names,
    key,
    checks,
    check: () => checkChannel({ ...steps.deps, checks }, key),
  };
}

/** The same with the API's minimum interval, by a clock that the test moves. */
async function spaced(t: ExecutionContext) {
  const world = await checkable(t);
  const { steps, key, checks } = world;
  let aheadMs = 0;
  const now = () => new Date(steps.deps.now().getTime() + aheadMs);
  const check = () => throttledCheck({ ...steps.deps, checks, now }, key);
  const by = (ms: number) => {
    aheadMs += ms;
  };
  return { ...world, pass: { by, check } };
}

test('a successful check leaves a channel connected, and a check from another workspace finds no channel', async (t) => {
  const { check, state, steps, channel } = await checkable(t);
  t.like(await check(), { access: 'connected' });
  t.like(await state(), { state: 'connected' });
  const other = { workspaceId: crypto.randomUUID(), channelId: channel.id };
  t.is(await checkChannel({ ...steps.deps, checks: {} }, other), null);
});

test('a check updates the name of the account', async (t) => {
  const { check, names, answers, steps, channel } = await checkable(t);
  const nameOf = async () => {
    const { displayName } = await steps.deps.orm.em.fork().findOneOrFail(Channel, channel.id);
    return displayName;
  };
  names.push(' Ana\n', 'Ana B.');
  t.like(await check(), { access: 'connected' });
  t.is(await nameOf(), 'Ana');
  await check();
  t.is(await nameOf(), 'Ana B.');
  answers.push(away);
  await check();
  t.is(await nameOf(), 'Ana B.', 'the name is unchanged');
});

test('a refused access token is replaced, and the check repeated', async (t) => {
  const { check, answers, tokens, state } = await checkable(t);
  answers.push(refused);
  t.like(await check(), { access: 'connected' });
  t.is(tokens.spent.length, 1);
  t.like(await state(), { state: 'connected' });
});

test('a check does not affect an access that was connected meanwhile', async (t) => {
  const { check, tokens, steps, state, told } = await checkable(t, -hourMs);
  const asked = Promise.withResolvers<void>();
  const reconnected = Promise.withResolvers<void>();
  tokens.slowly = () => {
    asked.resolve();
    return reconnected.promise;
  };
  tokens.isOver = true;
  const checking = check();
  await asked.promise;
  const { orm, sealer } = steps.deps;
  const account = {
    baseUrl: 'https://fake.example',
    remoteId: 'me',
    handle: '@me',
    credentials: { accessToken: 'of their own' },
    session: null,
    settings: {},
  };
  await connectChannel(orm.em.fork(), sealer, steps.workspaceId, 'a', account);
  reconnected.resolve();

  t.like(await checking, { access: 'unknown' });
  t.like(await state(), { state: 'connected', error: null });
  t.deepEqual(await told(), []);
});

test('a revoked access emits one event, however often it is checked', async (t) => {
  const { check, answers, tokens, state, told } = await checkable(t);
  answers.push(refused, refused);
  tokens.isOver = true;
  t.like(await check(), { access: 'needs_reconnect' });
  t.like(await check(), { access: 'needs_reconnect' });
  t.like(await state(), { state: 'needs_reconnect' });
  t.deepEqual(await told(), ['channel.needs_reconnect']);
});

test('an outage, or a refusal of a new token, does not disconnect a channel', async (t) => {
  const { check, answers, tokens, state, told } = await checkable(t);
  answers.push(away);
  t.like(await check(), { access: 'unknown', reason: 'They are away.' });
  answers.push(refused, refused);
  t.like(await check(), { access: 'unknown' });
  answers.push(refused);
  tokens.away = away;
  t.like(await check(), { access: 'unknown' });
  t.like(await state(), { state: 'connected' });
  t.deepEqual(await told(), []);
});

test('a token that opens another account counts as lost access', async (t) => {
  const { check, answers, state } = await checkable(t);
  answers.push('somebody');
  t.like(await check(), { access: 'needs_reconnect' });
  t.like(await state(), { state: 'needs_reconnect' });
});

test('a channel that needed reconnecting and works becomes connected', async (t) => {
  const { check, steps, state, channel } = await checkable(t);
  const em = steps.deps.orm.em.fork();
  await em.execute(`update channels set state = 'needs_reconnect', error = 'Gone.' where id = ?`, [
    channel.id,
  ]);
  t.like(await check(), { access: 'connected' });
  t.like(await state(), { state: 'connected', error: null });
});

test('a channel is checked once in five minutes, and otherwise returns the last answer', async (t) => {
  const { answers, key, steps, pass } = await spaced(t);
  const check = () => pass.check();
  answers.push(away, 'me');
  const first = await check();
  t.like(first, { access: 'unknown' });
  t.deepEqual(await check(), first);
  t.is(answers.length, 1);
  pass.by(5 * 60_000);
  const second = await check();
  t.like(second, { access: 'connected' });
  t.not(second?.at, first?.at);
  t.is(answers.length, 0);
  await steps.deps.orm.em
    .fork()
    .execute(`update channels set state = 'needs_reconnect', error = 'Lost.' where id = ?`, [
      key.channelId,
    ]);
  t.like(await check(), { access: 'needs_reconnect', reason: 'Lost.' });
  t.is(
    await throttledCheck(
      { ...steps.deps, checks: {} },
      { ...key, workspaceId: crypto.randomUUID() },
    ),
    null,
  );
});

const handle = { label: 'Your handle', placeholder: 'me.bsky.social', required: true };
const check = (given: string) =>
  checkValues('bluesky', { fields: { handle } }, { handle: given })['handle'];

test('invisible characters in what people paste are removed', (t) => {
  for (const given of [
    '\u202Ame.bsky.social\u202C',
    '\u2068me.bsky.social\u2069',
    '\u200Bme.bsky\u200B.social',
    'me.bsky.social\u200E ',
    '\uFEFF me.bsky.social\u00A0',
  ]) {
    t.is(check(given), 'me.bsky.social');
  }
});
