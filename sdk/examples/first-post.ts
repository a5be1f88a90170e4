// Publishes a text on every connected account but those of YouTube now, and prints where it is:
// node first-post.ts "Hello"
import { Punctual } from '@punctual/client';

const punctual = new Punctual({
  apiKey: process.env['PUNCTUAL_API_KEY'] ?? '',
  baseUrl: process.env['PUNCTUAL_URL'] ?? 'http://127.0.0.1:3000',
});

const { channels } = await punctual.channels.list();
const { post } = await punctual.posts.create({
  body: process.argv[2] ?? 'Hello from Punctual',
  // YouTube takes no text without a video.
  channel_ids: channels.filter(({ platform }) => platform !== 'youtube').map(({ id }) => id),
  schedule_in_minutes: 0,
});
const ended = await punctual.posts.waitFor(post.id);
for (const { handle, status, url, error } of ended.channels) {
  console.log(`${handle}: ${status} ${url ?? error ?? ''}`);
}
