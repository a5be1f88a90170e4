import type { Request } from 'koa';

/** This server's origin as the caller wrote it. (Koa's own `origin` is the header of that name.) */
export function originOf({ host }: Pick<Request, 'host'>): string {
  return `http://${host}`;
}
