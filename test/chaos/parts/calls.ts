import { setTimeout as sleep } from 'node:timers/promises';
import type { PostView } from '../../../domain/post-view.ts';
import type { Client, Reply } from '../../support/client.ts';

/** A call that was made until it was answered. */
export type Called = {
  readonly reply: Reply;
  /** Of the first request, in milliseconds since 1970: from then on it may have had its effect. */
  readonly sentAtMs: number;
  readonly ackAtMs: number;
  /** Earlier requests got no answer, so that they may have had their effect all the same. */
  readonly lostAnswers: number;
};

const againAfterMs = 250;
/** The API is away for up to a minute on purpose; on a machine at a load of 20 a start alone takes minutes. */
const longestMs = 600_000;

/**
 * Calls as a careful program does: again when no answer came, or one that says to come back.
 *
 * @throws Error when that lasts ten minutes, or an answer is not as the API's document says.
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
        throw new Error(`The API answered ${reply.status}: ${JSON.stringify(reply.body)}`);
      }
    } catch (error) {
      if (!(error instanceof TypeError)) {
        throw error; // `fetch` says so of an answer that never came, and of nothing else.
      }

      lostAnswers += 1;
    }

    if (Date.now() - sentAtMs > longestMs) {
      throw new Error('The API could not be reached for ten minutes.');
    }
    await sleep(againAfterMs);
  }
}

/** The post as the API shows it; null when it knows of none. */
export async function showPost(client: Client, id: string): Promise<PostView | null> {
  const { reply } = await callUntilAnswered(() => client.get(`/posts/${id}`));
  return reply.status === 404 ? null : reply.body.post;
}
