import type { Context } from 'koa';

/** An error response. Each network has its own format. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /** The error code, as on Bluesky; Mastodon sends only the message. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Additional fields of Bluesky's response. */
  readonly extra: object;

  constructor(
    status: number,
    message: string,
    options: { code?: string; headers?: Readonly<Record<string, string>>; extra?: object } = {},
  ) {
    super(message);
    this.status = status;
    this.code = options.code ?? 'InvalidRequest';
    this.headers = options.headers ?? {};
    this.extra = options.extra ?? {};
  }
}

/** Closes the connection without a response, like a network that fails after it accepted a post. */
export function cutConnection(ctx: Pick<Context, 'respond' | 'req'>): void {
  ctx.respond = false;
  ctx.req.socket.destroy();
}
