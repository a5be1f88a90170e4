import type { Readable } from 'node:stream';
import { Router, type RouterContext } from '@koa/router';
import { MediaFile } from '../../db/entities/media-file.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { createKeyedSemaphore, type KeyedSemaphore } from '../../runtime/keyed-semaphore.ts';
import type { ByteRange } from '../../runtime/storage/media-storage.ts';
import type { ApiDeps } from '../deps.ts';
import { clientSignalOf } from '../http/mount.ts';
import { clientAddress } from '../rate-limits/crowd.ts';

/**
 * Whatever a file holds, a browser shows it as its type says or not at all: it runs nothing and asks for nothing. The
 * page that a browser makes around a picture or a video has its own styles, and the file as its content.
 */
const policy =
  "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

/** How many links one client address has looked up at the same time. It needs no key to ask for any, right or wrong. */
const lookUpsPerAddress = 2;

/** Serves the links to files (see `linkOf`). They need no key: the token in them is one. */
export function filesRouter(deps: ApiDeps): Router {
  const lookUps = createKeyedSemaphore(lookUpsPerAddress);
  return new Router().get('/files/:token/:name', (ctx) => serveFile(deps, lookUps, ctx));
}

async function serveFile(
  { orm, media, gate }: ApiDeps,
  lookUps: KeyedSemaphore,
  ctx: RouterContext,
): Promise<void> {
  gate.assertOpen();
  const done = await lookUps(clientAddress(ctx.ip), clientSignalOf(ctx.res));
  const file = await findFile(orm.em.fork(), ctx.params['token'] ?? '').finally(done);
  const etag = `"${file.id}"`;
  const isRanged = ctx.method === 'GET' && ['', etag].includes(ctx.get('if-range'));
  const range = isRanged ? byteRange(ctx.get('range'), file.sizeBytes) : 'whole';
  const part = typeof range === 'object' ? range : undefined;
  ctx.status = 200;
  ctx.set('ETag', etag);
  if (ctx.fresh) {
    ctx.status = 304;
  } else if (range === 'unsatisfiable') {
    ctx.status = 416;
    ctx.set('Content-Range', `bytes */${file.sizeBytes}`);
    ctx.body = {
      error: `The file has ${file.sizeBytes} bytes, and none of them are in this range.`,
      code: 'invalid_request',
    };
  } else {
    const body = ctx.method === 'GET' ? await opened(media, file, part) : undefined;
    describe(ctx, file, part);
    if (body) {
      ctx.body = body;
    }
  }
}

async function opened(
  { storage }: ApiDeps['media'],
  { storageKey }: MediaFile,
  part: ByteRange | undefined,
): Promise<Readable> {
  const body = await storage.open(storageKey, part);
  if (!body) {
    throw notFound();
  }

  return body;
}

function describe(ctx: RouterContext, file: MediaFile, part: ByteRange | undefined): void {
  ctx.type = file.type;
  ctx.length = part ? part.end - part.start + 1 : file.sizeBytes;
  ctx.set({
    'Accept-Ranges': 'bytes',
    // In its sandbox the page around a video is a stranger even to the address that it came from.
    'Access-Control-Allow-Origin': '*',
    // Its bytes never change, but it may be deleted.
    'Cache-Control': 'private, max-age=3600',
    'Content-Disposition': 'inline',
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
  });
  if (part) {
    ctx.status = 206;
    ctx.set('Content-Range', `bytes ${part.start}-${part.end}/${file.sizeBytes}`);
  }
}

/** @throws AppError `not_found` */
async function findFile(em: Em, linkToken: string): Promise<MediaFile> {
  const isToken = /^[0-9A-Za-z]{32}$/v.test(linkToken);
  const file = isToken ? await em.findOne(MediaFile, { linkToken, deletedAt: null }) : null;
  if (!file) {
    throw notFound();
  }

  return file;
}

const notFound = () => new AppError('not_found', 'There is no such file.');

/**
 * The part of a file that a `Range` header asks for (RFC 9110, section 14). A header that asks for several parts, or
 * that cannot be read, asks for the whole: a server may ignore it.
 *
 * @returns `whole`, the one part, or `unsatisfiable` when it lies behind the end.
 */
function byteRange(header: string, sizeBytes: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=(?<start>\d{0,15})-(?<end>\d{0,15})$/v.exec(header.trim());
  const { start: from = '', end: to = '' } = match?.groups ?? {};
  if (from === '' && to === '') {
    return 'whole';
  }

  const last = sizeBytes - 1;
  const start = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const end = from === '' || to === '' ? last : Math.min(Number(to), last);
  if (from !== '' && to !== '' && Number(from) > Number(to)) {
    return 'whole';
  }

  return start > last ? 'unsatisfiable' : { start, end };
}
