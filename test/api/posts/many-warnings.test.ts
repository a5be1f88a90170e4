import test from 'ava';
import { sharedApi } from '../../support/kit.ts';
import { storeChannel } from '../../support/seed.ts';

const api = sharedApi(test);

test('a draft with thousands of faults stores some of each channel, and says how many are left out', async (t) => {
  const client = await api.newClient();
  const settings = { maxCharacters: 1 };
  const channels = Array.from({ length: 8 }, () =>
    storeChannel(api.punctual, client.workspaceId, { settings }),
  );
  const draft = {
    thread: Array.from({ length: 25 }, () => 'long'),
    channel_ids: await Promise.all(channels),
  };
  const { body: validated } = await client.post('/posts/validate', draft);
  t.is(validated.channels[7].errors.length, 25);
  const { status, body } = await client.post('/posts', draft);
  t.is(status, 201);
  const { warning, warnings } = body.post;
  t.is(warnings.length, 100);
  const more = (left: number): string =>
    `${left} more warnings are not listed here: POST /api/v1/posts/validate lists all.`;
  t.like(warnings[19], { channel_id: draft.channel_ids[0], message: more(6) });
  t.like(warnings[99], { channel_id: null, message: more(61) });
  t.true(warning.endsWith(more(61)));
  t.true(warning.length < 20_000, `${warning.length}`);
});
