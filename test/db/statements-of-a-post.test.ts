import type { ExecutionContext } from 'ava';
import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';
import { statementsOf } from '../support/sent-statements.ts';

// Serial tests, because they read all statements of this process.
const test = needs('postgres');
const api = sharedApi(test);

/** A post's way from its creation to its end. */
async function publishing(t: ExecutionContext, channels = 1) {
  const networks = Array.from({ length: channels }, (_, at) => [`fake${at}`, fakeNetwork()]);
  const steps = await postSteps(t, Object.fromEntries(networks), api.punctual.databaseUrl);
  const channel_ids = Object.values(steps.channels);
  const content = { body: 'Hello', channel_ids };
  const publish = async (post: string): Promise<void> => {
    const claim = await steps.claimOrThrow(post);
    for (const { postChannelId } of claim.targets) {
      t.like(await steps.attempt(post, postChannelId), { status: 'published' });
    }

    t.like(await steps.finalize(post, claim), { status: 'published' });
  };
  const createDraft = () => steps.create(content);
  const createDue = () => steps.create({ ...content, schedule_in_minutes: 0 });
  return { steps, createDraft, createDue, publish };
}

for (const [channels, count] of [
  [1, 10],
  [5, 22],
] as const) {
  const what = `a post on ${channels} ${channels === 1 ? 'channel' : 'channels'} takes ${count} statements`;
  test.serial(
    `from its due time to its end, ${what}, prepared but for its transaction`,
    async (t) => {
      const { createDue, publish } = await publishing(t, channels);
      const post = await createDue();
      const statements = await statementsOf(() => publish(post));
      const texts = statements.map(({ text, values }) => (values.length > 0 ? 'prepared' : text));
      const others = texts.filter((text) => text !== 'prepared');
      t.deepEqual(others, ['begin', 'commit']);
      t.is(texts.length, count);
    },
  );
}

test.serial('no statement of a post is planned again at every call', async (t) => {
  const { steps, createDraft, createDue, publish } = await publishing(t);
  for (let round = 0; round < 20; round += 1) {
    await steps.show(await createDraft());
    await publish(await createDue());
  }

  // The pool hands out the connection that was released last, so this reads the one that ran the statements.
  const plans = await steps.deps.orm.em
    .fork()
    .execute<{ statement: string; custom_plans: string }[]>(
      'select statement, custom_plans from pg_prepared_statements',
    );
  for (const part of ['insert into posts', 'update posts set status', 'insert into events']) {
    t.true(
      plans.some(({ statement }) => statement.includes(part)),
      part,
    );
  }

  // PostgreSQL plans the first five runs for their values, and then decides.
  const planned = plans.filter(({ custom_plans: custom }) => Number(custom) > 5);
  t.deepEqual(planned, []);
});
