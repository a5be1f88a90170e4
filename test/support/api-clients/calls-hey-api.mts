// Calls the API through a client from @hey-api/openapi-ts: calls-hey-api.mts API_URL API_KEY CHANNEL_ID
// FAILED_POST_ID. Prints the values that it read, as JSON.
import { client } from './generated/client.gen.ts';
import {
  createPost,
  getPost,
  listChannels,
  listPosts,
  retryPost,
  uploadMedia,
  validatePost,
} from './generated/sdk.gen.ts';

const [baseUrl = '', auth = '', channelId = '', failedPostId = ''] = process.argv.slice(2);
client.setConfig({ baseUrl, auth });
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
);
const throwOnError = true;
const { data: connected } = await listChannels({ throwOnError });
const file = new File([png], 'dot.png', { type: 'image/png' });
const uploaded = await uploadMedia({ body: { file, alt_text: 'A dot' }, throwOnError });
const { media } = uploaded.data;
const keyed = {
  headers: { 'Idempotency-Key': crypto.randomUUID() },
  body: {
    body: 'By a generated client',
    channel_ids: [channelId],
    channel_options: { [channelId]: { visibility: 'unlisted' as const } },
    media_ids: [media.id],
    scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
  },
};
const created = await createPost({ ...keyed, throwOnError });
const { post } = created.data;
const again = await createPost(keyed);
const { data: got } = await getPost({ path: { id: post.id }, throwOnError });
const { data: listed } = await listPosts({ query: { limit: 5 }, throwOnError });
const { data: retried } = await retryPost({ path: { id: failedPostId }, throwOnError });
const tooLong = { body: 'x'.repeat(600), channel_ids: [channelId] };
const { data: invalid } = await validatePost({ body: tooLong, throwOnError });
const refused = await createPost({ body: { body: '' } });
const answers = {
  channels: connected.channels.map(({ id }) => id),
  upload: media.name,
  created: post.status,
  again: again.response?.status,
  got: { pending: got.post.summary.pending, media: got.post.media.map(({ type }) => type) },
  listed: listed.posts.some(({ id }) => id === post.id),
  retried: retried.retrying,
  invalid: invalid.channels[0]?.errors.map(({ rule }) => rule),
  refused: refused.error?.code,
};
console.log(JSON.stringify(answers));
