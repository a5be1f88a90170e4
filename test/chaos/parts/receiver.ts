import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import type { Random } from '../../support/simulation/random.ts';
import type { Received } from '../../support/receiver.ts';

/** A request of a webhook, and what it was answered. */
export type Taken = Received & { readonly answered: number };

export type EventReceiver = {
  readonly url: string;
  readonly port: number;
  readonly taken: readonly Taken[];
};

/**
 * The user's own server, which receives events. Sometimes it fails, though an event only once: the next attempt is a
 * minute later and the one after that five.
 *
 * @param fails Whether it is in a state to fail.
 */
export async function receiveEvents(
  t: ExecutionContext,
  random: Random,
  fails: () => boolean,
): Promise<EventReceiver> {
  const taken: Taken[] = [];
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      const { headers } = request;
      const id = String(headers['service-event-id']);
      const answered = !seen.has(id) && fails() && random.chance(0.1) ? 500 : 204;
      seen.add(id);
      taken.push({ headers, body: bytes.toString('utf8'), answered });
      response.writeHead(answered).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/events`, port, taken };
}
