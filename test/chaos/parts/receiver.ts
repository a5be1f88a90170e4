import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import type { Random } from '../../support/simulation/random.ts';
import type { Received } from '../../support/receiver.ts';
import { listening } from '../../support/listening.ts';

/** A webhook request, and the status of its response. */
export type AnsweredEvent = Received & { readonly answered: number };

export type EventReceiver = {
  readonly url: string;
  readonly port: number;
  readonly events: readonly AnsweredEvent[];
};

/**
 * The user's server, which receives events. It fails each event at most once, because the next attempt comes a minute
 * later and the one after it five minutes later.
 *
 * @param fails Whether it may fail now.
 */
export async function receiveEvents(
  t: ExecutionContext,
  random: Random,
  fails: () => boolean,
): Promise<EventReceiver> {
  const events: AnsweredEvent[] = [];
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      const { headers } = request;
      const id = String(headers['service-event-id']);
      const answered = !seen.has(id) && fails() && random.chance(0.1) ? 500 : 204;
      seen.add(id);
      events.push({ headers, body: bytes.toString('utf8'), answered });
      response.writeHead(answered).end();
    });
  });
  const port = await listening(t, server);
  return { url: `http://127.0.0.1:${port}/events`, port, events };
}
