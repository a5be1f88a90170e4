import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { Refusal } from '../refusal.ts';
import type { Store } from '../store.ts';

/** More than a person opens; fewer than would hurt. */
const maxListeners = 100;

export type Events = {
  /** Keeps the request open and sends a word after every change. */
  listen(ctx: Pick<Context, 'respond' | 'res'>): void;
  /** Ends all of them. */
  close(): void;
};

/** Tells open pages that something changed, by server-sent events. What changed, they fetch. */
export function createEvents(store: Store): Events {
  const listeners = new Set<ServerResponse>();
  store.onChange(() => {
    for (const response of listeners) {
      response.write('data: change\n\n');
    }
  });
  return {
    listen(ctx) {
      if (listeners.size >= maxListeners) {
        throw new Refusal(503, 'Too many open pages.');
      }
      const response = ctx.res;
      ctx.respond = false;
      // `close`, or a stopping server would wait for the connection to be used again.
      response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
      response.write('retry: 1000\n\n');
      listeners.add(response);
      response.on('close', () => listeners.delete(response));
    },
    close() {
      for (const response of listeners) {
        response.end();
      }
    },
  };
}
