import type { Readable } from 'node:stream';
import { Router, type RouterContext } from '@koa/router';
import type { MediaFile } from '../../db/entities/media.ts';
import { findMediaByLink } from '../../db/repositories/media.ts';
import { AppError } from '../../domain/errors.ts';
import { createKeyedSemaphore, type KeyedSemaphore } from '../../runtime/concurrency.ts';
import type { ByteRange } from '../../runtime/storage/media-storage.ts';
import type { ApiDeps } from '../deps.ts';
import { clientSignalOf } from '../http/mount.ts';
import { clientAddress } from '../rate-limits/client-address.ts';
import { createConcurrencyLimit } from '../rate-limits/limiter.ts';

/** A file must not run scripts. The browser's page around an image or a video needs inline styles. */
const policy =
  "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

/** Concurrent link lookups of one client address, and its files that are being sent. They need no key. */
const [lookupsPerAddress, filesPerAddress] = [2, 500];

/** Serves the links to files (see `linkOf`). They need no key: the token in the link authorizes. */
export function filesRouter(deps: ApiDeps): Router {
  const acquireLookup = createKeyedSemaphore(lookupsPerAddress);
  const takeSlot = createConcurrencyLimit(filesPerAddress, 'for files from this address');
  return new Router().get('/files/:token/:name', async (ctx) => {
    takeSlot(ctx, clientAddress(ctx.ip)); // Each open file takes 0.2 MB until it is read.
    await serveFile(deps, acquireLookup, ctx);
  });
}

async function serveFile(
  { orm, media, gate }: ApiDeps,
  acquireLookup: KeyedSemaphore,
  ctx: RouterContext,
): Promise<void> {
  gate.assertOpen();
  const done = await acquireLookup(clientAddress(ctx.ip), clientSignalOf(ctx.res));
  const file = await findMediaByLink(orm.em.fork(), ctx.params['token'] ?? '').finally(done);
  if (!file) {
    throw notFound();
  }

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
    // The sandboxed page around a video has an opaque origin.
    'Access-Control-Allow-Origin': '*',
    // The bytes never change, but the file may be deleted.
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

const notFound = () => new AppError('not_found', 'There is no such file.');

/** Reads a `Range` header (RFC 9110, section 14). Several ranges, or an invalid header, return the whole file. */
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
