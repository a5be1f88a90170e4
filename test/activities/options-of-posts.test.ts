import test from 'ava';
import { optionsFor, type Options } from '../../networks/content-rules.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork } from '../support/networks.ts';

const database = beforeTests(test, freshDatabase);

const text = { type: 'string' };
const schema = {
  type: 'object',
  additionalProperties: false,
  properties: { title: text, privacy: text, made_for_kids: { type: 'boolean' } },
} as const;

test('options apply in order: channel defaults, the post’s video, options of the post', (t) => {
  const rules = { options: schema };
  const defaults = { title: 'Default', privacy: 'private' };
  const video = { title: 'Video', privacy: 'unlisted', made_for_kids: true } as const;
  t.deepEqual(optionsFor(rules, { defaults, video, own: { title: 'Own' } }), {
    title: 'Own',
    privacy: 'unlisted',
    made_for_kids: true,
  });
  t.deepEqual(optionsFor(rules, { defaults, video: null, own: null }), defaults);
  const none = { options: { ...schema, properties: {} } };
  t.deepEqual(optionsFor(none, { defaults: {}, video, own: null }), {});
});

test('the network receives the video options of a post', async (t) => {
  const network = fakeNetwork();
  Object.assign(network.rules, { options: schema });
  const seen: Options[] = [];
  const channel = await clockedChannel(t, network, database().url);
  const post = await channel.newPost(['A film']);
  const { id } = await post.row();
  await channel.deps.orm.em.fork().execute(
    `update posts set video = '{"title": "Video", "made_for_kids": true}'
      where id = (select post_id from post_channels where id = ?)`,
    [id],
  );
  const { send } = network;
  network.send = (connection, step, files) => {
    seen.push(...step.parts.map(({ options }) => options));
    return send(connection, step, files);
  };

  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(seen, [{ title: 'Video', made_for_kids: true }]);
});
