import type { Context } from 'koa';

/** An answer other than success. Each network writes it in its own shape. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /** Bluesky's name of the error; Mastodon sends only the message. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Fields of Bluesky's answer beside the error and its message. */
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

/** Ends the connection without an answer, as a network does that falls over after it took a post. */
export function cutConnection(ctx: Pick<Context, 'respond' | 'req'>): void {
  ctx.respond = false;
  ctx.req.socket.destroy();
}
