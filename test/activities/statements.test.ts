import test from 'ava';
import { watchStatements } from '../db/watch-statements.ts';
import { fakeNetwork } from '../support/networks.ts';
import { postLife, type Go } from '../support/post-life.ts';

const watch = watchStatements();

test('from its time to its end, a post asks the database 6 times, and no text is planned anew for it', async (t) => {
  const life = await postLife(t, { fake: fakeNetwork() });
  const post = await life.create({
    body: 'Hello',
    channel_ids: Object.values(life.channels),
    schedule_in_minutes: 0,
  });
  const sent = await watch(async () => {
    const claim = (await life.claim(post)) as Go;
    const { postChannelId = '' } = claim.targets[0] ?? {};
    t.like(await life.attempt(post, postChannelId), { status: 'published' });
    t.like(await life.finalize(post, claim), { status: 'published' });
  });
  const texts = sent.map(({ text, values }) => (values.length > 0 ? 'prepared' : text));
  const others = texts.filter((text) => text !== 'prepared');
  t.deepEqual(others, []);
  t.is(texts.length, 6, sent.map(({ text }) => text).join('\n'));
});
