import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { picture } from '../support/media-files.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { sharedService } from './on-sandbox.ts';

const test = needs('temporal');
const newService = sharedService(test);

test('with --json, commands for posts print the answers of the API', async (t) => {
  const { answerOf, channel, run } = await newService(t);
  const words = ['post', 'create', '--body', '-', '--channel', 'mastodon', '--tag', 'spring'];
  const made = await answerOf('POST /posts 201', words, 'One\nTwo\n');
  const { id } = made.post;
  t.like(made.post, { body: 'One\nTwo', status: 'draft', tags: ['spring'] });

  t.is((await answerOf('GET /posts/{id} 200', ['post', 'show', id])).post.id, id);
  const at = ['--at', '2027-03-01T09:00', '--timezone', 'Europe/Berlin'];
  const edited = await answerOf('PATCH /posts/{id} 200', ['post', 'edit', id, ...at]);
  const due = { scheduled_at: '2027-03-01T08:00:00.000Z', timezone: 'Europe/Berlin' };
  t.like(edited.post, due);
  const moved = ['post', 'edit', id, '--at', '2027-03-02T09:00'];
  const next = { scheduled_at: '2027-03-02T08:00:00.000Z', timezone: 'Europe/Berlin' };
  t.like((await answerOf('PATCH /posts/{id} 200', moved)).post, next);
  const options = ['post', 'edit', id, '--options', '{"mastodon":{"visibility":"private"}}'];
  const [changed] = (await answerOf('PATCH /posts/{id} 200', options)).post.channels;
  t.deepEqual(changed.options, { visibility: 'private' });
  await run(['api', 'PATCH', `/posts/${id}`, '-f', `channel_bodies:={"${channel}":"Own"}`]);
  const { stdout } = await run(['post', 'show', id]);
  t.regex(stdout, /^Text on .*: Own\nOptions on .*"visibility":"private"/mv);
  const parts = ['post', 'edit', id, '--thread', 'a', '--thread', 'b'];
  t.like((await answerOf('PATCH /posts/{id} 200', parts)).post, { body: null, thread: ['a', 'b'] });
  const whole = ['post', 'edit', id, '--body', 'One\nTwo'];
  t.like((await answerOf('PATCH /posts/{id} 200', whole)).post, { body: 'One\nTwo', thread: null });
  t.is((await answerOf('POST /posts/{id}/cancel 200', ['post', 'cancel', id])).ok, true);
  const copied = await answerOf('POST /posts/{id}/copy 201', ['post', 'copy', id]);
  const thread = ['--thread', 'a', '--thread', 'b', '--channel', channel, '--dry-run'];
  const checked = ['post', 'create', ...thread, ...at];
  const { valid, scheduled_at: time } = await answerOf('POST /posts/validate 200', checked);
  t.deepEqual([valid, time], [true, due.scheduled_at]);
  t.regex(
    (await run(checked)).stdout,
    /^It would be due at 2027-03-01 09:00 \(Europe\/Berlin\)\.$/mv,
  );

  const filters = ['--status', 'draft', '--channel', 'mastodon', '--search', 'two'];
  const list = await answerOf('GET /posts 200', ['post', 'list', ...filters]);
  const ids = list.posts.map((one: { id: string }) => one.id);
  t.deepEqual(ids.toSorted(), [id, copied.post.id]);
  const gone = await answerOf('DELETE /posts/{id} 200', ['post', 'delete', id, '--yes']);
  t.is(gone.id, id);
});

test('a post with a picture is published while the command waits; a refused one fails, and can be retried', async (t) => {
  const { answerOf, run } = await newService(t);
  const file = path.join(await temporaryFolder(t), 'cat.png');
  await writeFile(file, await picture('png'));
  const twice = ['post', 'create', '--body', 'Key', '--media', file, '--idempotency-key', 'k'];
  const first = (await answerOf('POST /posts 201', twice)).post;
  t.is((await answerOf('POST /posts 200', twice)).post.id, first.id);

  const now = ['--channel', 'mastodon', '--at', 'now', '--wait'];
  const words = ['post', 'create', '--body', 'Look', '--media', file, '--alt', 'A cat', ...now];
  const { post } = await answerOf('GET /posts/{id} 200', words);
  t.like(post, { outcome: 'published', media: [{ alt_text: 'A cat' }] });
  const removal = ['post', 'unpublish', post.id, '--yes'];
  await answerOf('POST /posts/{id}/unpublish 202', removal);
  const removed = /^Status +published, then removed from 1 of 1 channels$/mv;
  await poll(
    async () => (await run(['post', 'show', post.id])).stdout,
    (shown) => removed.test(shown),
  );

  const refused = await run(['post', 'create', '--body', 'x #sandbox-refuse', ...now]);
  t.is(refused.code, 1);
  t.regex(refused.stdout, /^Status +failed$/mv);
  t.regex(refused.stderr, /^Post \S+\. Ctrl-C .*\n(?:Waiting|publishing|failed)/v);
  const [, id = ''] = /^Post +(\S+)$/mv.exec(refused.stdout) ?? [];
  const again = await run(['post', 'retry', id, '--wait', '--json']);
  t.is(again.code, 1, again.stderr);
  t.is(JSON.parse(again.stdout).post.outcome, 'failed');
});

test('with --json, commands for accounts, keys and files print the answers of the API', async (t) => {
  const { answerOf, channel, client, run } = await newService(t);
  await answerOf('GET /me 200', ['whoami']);
  t.is((await answerOf('GET /channels 200', ['channel', 'list'])).channels[0].id, channel);
  const link = ['channel', 'connect', '--platform', 'mastodon', '--sandbox'];
  await answerOf('POST /channels/connect 201', link);

  const rights = ['--scope', 'posts:read', '--scope', 'media', '--channel', 'mastodon'];
  const { key } = await answerOf('POST /keys 201', ['key', 'create', '--name', 'N', ...rights]);
  t.like(key, { scopes: ['posts:read', 'media'], channel_ids: [channel] });
  t.is((await answerOf('GET /keys 200', ['key', 'list'])).keys.length, 2);
  const soon = new Date(Date.now() + 3000).toISOString();
  await client.post('/keys', { name: 'Old', scopes: ['media'], expires_at: soon });
  const expired = / Old .* expired /v;
  await poll(
    async () => (await run(['key', 'list'])).stdout,
    (shown) => expired.test(shown),
  );
  await answerOf('DELETE /keys/{id} 200', ['key', 'revoke', key.id, '--yes']);

  const file = path.join(await temporaryFolder(t), 'cat.png');
  await writeFile(file, await picture('png'));
  await answerOf('POST /media 201', ['media', 'upload', file, '--alt', 'A cat']);
  t.is((await answerOf('GET /media 200', ['media', 'list'])).media[0].alt_text, 'A cat');
});

test('with --json, commands for webhooks and metrics print the answers of the API', async (t) => {
  const { answerOf, client, channel, run } = await newService(t);
  const url = 'https://hooks.example.com/';
  const words = ['webhook', 'create', '--url', url, '--event', 'post.failed,post.published'];
  const { id } = (await answerOf('POST /webhooks 201', words)).webhook;
  t.is((await answerOf('GET /webhooks 200', ['webhook', 'list'])).webhooks.length, 1);
  await answerOf('GET /webhooks/{id} 200', ['webhook', 'show', id]);
  await answerOf('GET /webhooks/{id}/deliveries 200', ['webhook', 'deliveries', id]);
  const since = ['--since', new Date(Date.now() - 60_000).toISOString()];
  await answerOf('POST /webhooks/{id}/replay 202', ['webhook', 'replay', id, ...since]);
  await answerOf('DELETE /webhooks/{id} 200', ['webhook', 'delete', id, '--yes']);

  const post = { body: 'x', channel_ids: [channel], schedule_in_minutes: 0 };
  const { post: made } = (await client.post('/posts', post)).body;
  await client.finalPost(made.id);
  const byPost = await answerOf('GET /analytics 200', ['analytics', 'posts']);
  t.is(byPost.posts[0].post_id, made.id);
  await answerOf('GET /analytics/channels 200', ['analytics', 'channels']);
  t.regex((await run(['analytics', 'posts', '--csv'])).stdout, new RegExp(`${made.id},`, 'v'));
});

test('a list is a table for people, and a line for each page with --all --json', async (t) => {
  const { run, channel } = await newService(t);
  const more = ['-f', `channel_ids:=["${channel}"]`, '-f', 'metadata:={"n":"1"}'];
  for (const body of ['one\nline', 'two', 'three']) {
    const { code } = await run(['api', 'POST', '/posts', '-f', `body=${body}`, ...more]);
    t.is(code, 0);
  }

  const all = ['post', 'list', '--limit', '2', '--all'];
  const table = (await run(all)).stdout.trimEnd().split('\n');
  t.regex(table[0]!, /^ID +STATUS +TIME \(UTC\) +CHANNELS +TEXT$/v);
  t.deepEqual(
    table.slice(1).map((row) => row.split(/ {2,}/v).slice(1)),
    ['three', 'two', 'one line'].map((text) => ['draft', 'mastodon', text]),
  );
  const pages = (await run([...all, '--jq', '[.posts[].body]|length'])).stdout;
  t.is(pages, '2\n1\n');
  const calls = ['api', 'GET', '/posts', '-f', 'limit=1', '--paginate', '--jq', '.posts[0].body'];
  t.is((await run(calls)).stdout, 'three\ntwo\none\nline\n');

  const late = await run(['api', 'GET', '/posts', '--jq', '.posts[0].body, error("late")']);
  t.is(late.code, 1);
  t.regex(late.stderr, /The call was done, but --jq failed: .*late/v);
});
