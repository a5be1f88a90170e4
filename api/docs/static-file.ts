import { createHash } from 'node:crypto';
import type { Context } from 'koa';

export type StaticFile = { readonly type: string; readonly body: Buffer; readonly etag: string };

export const staticFile = (type: string, body: Buffer): StaticFile => ({
  type,
  body,
  etag: createHash('sha256').update(body).digest('base64url').slice(0, 22),
});

/** Serves a file. Browsers may cache it but must revalidate, which answers 304 when it is unchanged. */
export function serveFile(ctx: Context, { type, body, etag }: StaticFile): void {
  ctx.set('Cache-Control', 'public, no-cache');
  ctx.set('X-Content-Type-Options', 'nosniff');
  ctx.etag = etag;
  ctx.status = 200; // `fresh` requires a status of success.
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }

  ctx.type = type;
  ctx.body = body;
}
