import { setTimeout as sleep } from 'node:timers/promises';
import type { PostView } from '../../../domain/post-view.ts';
import type { Client, Reply } from '../../support/client.ts';

/** A call that was repeated until it got a response. */
export type Called = {
  readonly reply: Reply;
  /** When the first request was sent, in milliseconds since 1970; it may take effect from then on. */
  readonly sentAtMs: number;
  readonly ackAtMs: number;
  /** Earlier requests without a response, which may have taken effect. */
  readonly lostAnswers: number;
};

const againAfterMs = 250;
/** The run stops the API for up to a minute, and a start takes minutes on a machine with a load of 20. */
const longestMs = 600_000;

/**
 * Calls as a careful client does: repeats requests without a response, or with 429 or 503.
 *
 * @throws Error after ten minutes, or when the API returns another 5xx.
 */
export async function callUntilAnswered(call: () => Promise<Reply>): Promise<Called> {
  const sentAtMs = Date.now();
  for (let lostAnswers = 0; ;) {
    try {
      const reply = await call();
      if (reply.status < 500 && reply.status !== 429) {
        return { reply, sentAtMs, ackAtMs: Date.now(), lostAnswers };
      }

      if (reply.status !== 503 && reply.status !== 429) {
        throw new Error(`The API returned ${reply.status}: ${JSON.stringify(reply.body)}`);
      }
    } catch (error) {
      if (!(error instanceof TypeError)) {
        throw error; // `fetch` throws a TypeError only when no response arrived.
      }

      lostAnswers += 1;
    }

    if (Date.now() - sentAtMs > longestMs) {
      throw new Error('The API was unreachable for ten minutes.');
    }
    await sleep(againAfterMs);
  }
}

/** The post in the API, or null when it has none. */
export async function showPost(client: Client, id: string): Promise<PostView | null> {
  const { reply } = await callUntilAnswered(() => client.get(`/posts/${id}`));
  return reply.status === 404 ? null : reply.body.post;
}
