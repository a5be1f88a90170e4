// Sends the failed channels of the last week's posts again, and prints how each ended: node retry-failed.ts
import { Punctual, PunctualError } from '@punctual/client';

const punctual = new Punctual({
  apiKey: process.env['PUNCTUAL_API_KEY'] ?? '',
  baseUrl: process.env['PUNCTUAL_URL'] ?? 'http://127.0.0.1:3000',
});

const from = new Date(Date.now() - 7 * 24 * 3_600_000).toISOString();
for (const outcome of ['failed', 'partial'] as const) {
  for await (const { id } of punctual.posts.list({ outcome, from })) {
    try {
      await punctual.posts.retry(id);
      const post = await punctual.posts.waitFor(id);
      console.log(`${id}: ${post.outcome}`);
    } catch (error) {
      // Such as `nothing_to_retry`: only a person can settle an unconfirmed channel.
      console.log(`${id}: ${error instanceof PunctualError ? error.message : String(error)}`);
    }
  }
}
