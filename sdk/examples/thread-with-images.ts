// Schedules a thread for tomorrow at nine, with an image for each part:
// node thread-with-images.ts CHANNEL_ID photo-1.jpg photo-2.jpg
import { Punctual, type Schemas } from '@punctual/client';

type ThreadPart = Schemas['ThreadPart'];

const punctual = new Punctual({
  apiKey: process.env['PUNCTUAL_API_KEY'] ?? '',
  baseUrl: process.env['PUNCTUAL_URL'] ?? 'http://127.0.0.1:3000',
});
const [channelId = '', ...files] = process.argv.slice(2);

const thread: ThreadPart[] = [];
for (const [index, file] of files.entries()) {
  const { media } = await punctual.media.upload(file, { alt_text: `Photo ${index + 1}` });
  thread.push({ text: `${index + 1} of ${files.length}`, media_ids: [media.id] });
}

const tomorrow = new Date(Date.now() + 24 * 3_600_000).toLocaleDateString('sv');
const wanted = {
  thread,
  channel_ids: [channelId],
  scheduled_at: `${tomorrow}T09:00`,
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
};

// Shows what the network would refuse before anything is scheduled.
const { valid, channels } = await punctual.posts.validate(wanted);
if (!valid) {
  throw new Error(channels.flatMap(({ errors }) => errors.map((one) => one.message)).join('\n'));
}

const { post } = await punctual.posts.create(wanted);
console.log(`${post.id} goes out at ${post.scheduled_at}.`);
