// Calls the API through openapi-fetch with types from openapi-typescript: calls-openapi-fetch.mts API_URL API_KEY CHANNEL_ID
// FAILED_POST_ID. Prints the values that it read, as JSON.
import createClient from 'openapi-fetch';
import type { paths } from './generated.d.ts';

const [baseUrl = '', apiKey = '', channelId = '', failedPostId = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${apiKey}` } });
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
);

/** The answer's body. */
function read<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) {
    throw new Error(`The API refused a call: ${JSON.stringify(error)}`);
  }

  return data;
}

const { channels } = read(await client.GET('/channels'));
const { media } = read(
  await client.POST('/media', {
    // The types describe a file as text; the form below sends real bytes.
    body: { file: '', alt_text: 'A dot' },
    bodySerializer: ({ alt_text }) => {
      const form = new FormData();
      form.set('alt_text', alt_text ?? '');
      form.set('file', new Blob([png], { type: 'image/png' }), 'dot.png');
      return form;
    },
  }),
);
const params = { header: { 'Idempotency-Key': crypto.randomUUID() } };
const body = {
  body: 'By a generated client',
  channel_ids: [channelId],
  channel_options: { [channelId]: { visibility: 'unlisted' as const } },
  media_ids: [media.id],
  scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
};
const { post } = read(await client.POST('/posts', { params, body }));
const again = await client.POST('/posts', { params, body });
const got = read(await client.GET('/posts/{id}', { params: { path: { id: post.id } } }));
const listed = read(await client.GET('/posts', { params: { query: { limit: 5 } } }));
const retry = { params: { path: { id: failedPostId } } };
const { retrying } = read(await client.POST('/posts/{id}/retry', retry));
const invalid = read(
  await client.POST('/posts/validate', {
    body: { body: 'x'.repeat(600), channel_ids: [channelId] },
  }),
);
const refused = await client.POST('/posts', { body: { body: '' } });
const answers = {
  channels: channels.map(({ id }) => id),
  upload: media.name,
  created: post.status,
  again: again.response.status,
  got: { pending: got.post.summary.pending, media: got.post.media.map(({ type }) => type) },
  listed: listed.posts.some(({ id }) => id === post.id),
  retried: retrying,
  invalid: invalid.channels[0]?.errors.map(({ rule }) => rule),
  refused: refused.error?.code,
};
console.log(JSON.stringify(answers));
