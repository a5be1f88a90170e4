import type { Context } from 'koa';

/** Ends the connection without an answer, as a network does that falls over after it took a post. */
export function cutConnection(ctx: Pick<Context, 'respond' | 'req'>): void {
  ctx.respond = false;
  ctx.req.socket.destroy();
}
