import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { Refusal } from '../refusal.ts';
import type { Store } from '../store.ts';

/** More open pages than a user needs, fewer than would cause harm. */
const maxListeners = 100;

export type Events = {
  /** Keeps the request open and sends an event after every change. */
  listen(ctx: Pick<Context, 'respond' | 'res'>): void;
  /** Ends all open requests. */
  close(): void;
};

/** Notifies open pages of changes by server-sent events. The pages fetch the content. */
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
      // Without `close`, a stopping server would wait for the idle connection.
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
