import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { readRequestBody, readRaw } from '../body.ts';
import { originOf } from '../origin.ts';
import { assertQuery, bodyReader, objectOf } from './check-fields.ts';
import type { LinkedinDeps } from './deps.ts';
import { mayActFor, type Guards } from './guards.ts';
import { accessDenied, invalid, notFound } from './refusals.ts';
import { rangeBytes, type Upload, type Uploads } from './uploads.ts';

const owner = { type: 'string' };
const expiresInMs = 24 * 60 * 60 * 1000;

const readImage = bodyReader<{ readonly initializeUploadRequest: { readonly owner: string } }>(
  objectOf({ initializeUploadRequest: objectOf({ owner }) }),
);

const readVideo = bodyReader<{
  readonly initializeUploadRequest: { readonly owner: string; readonly fileSizeBytes: number };
}>(
  objectOf({
    initializeUploadRequest: objectOf(
      {
        owner,
        fileSizeBytes: { type: 'integer', minimum: 1, maximum: 500 * 1024 * 1024 },
        uploadCaptions: { const: false },
        uploadThumbnail: { const: false },
      },
      ['uploadCaptions', 'uploadThumbnail'],
    ),
  }),
);

const readFinal = bodyReader<{
  readonly finalizeUploadRequest: {
    readonly video: string;
    readonly uploadToken: string;
    readonly uploadedPartIds: readonly string[];
  };
}>(
  objectOf({
    finalizeUploadRequest: objectOf({
      video: { type: 'string' },
      uploadToken: { type: 'string' },
      uploadedPartIds: { type: 'array', items: { type: 'string' } },
    }),
  }),
);

/** Clients upload files before their posts, to URLs that the sandbox returns. */
export function addMediaRoutes(
  router: Router,
  deps: LinkedinDeps,
  { versioned, partner }: Guards,
): void {
  addBeginnings(router, deps, versioned);
  const { uploads } = deps;
  for (const kind of ['images', 'videos']) {
    router.get(`/rest/${kind}/:urn`, versioned, partner(`${kind}.GET`), (ctx) => {
      assertQuery(ctx.URL.searchParams);
      const upload = uploads.find(ctx.params['urn'] ?? '');
      if (upload === undefined || `${upload.urn.split(':')[2]}s` !== kind) {
        throw notFound(ctx.params['urn'] ?? '');
      }
      const { urn: id, owner: ownerUrn, status } = upload;
      ctx.body = { id, owner: ownerUrn, status };
    });
  }

  // The URL is the permission: no token needed.
  router.put('/dms-uploads/:secret/:index', async (ctx) => {
    const { secret = '', index = '' } = ctx.params;
    if (ctx.get('linkedin-version') !== '') {
      throw invalid('Bytes go without the headers of the API');
    }
    const partId = await uploads.put(secret, Number(index), await readRaw(ctx.req));
    ctx.set('etag', `"${partId}"`);
    ctx.status = 201;
    ctx.body = '';
  });
}

function addBeginnings(
  router: Router,
  { uploads, now }: LinkedinDeps,
  versioned: Middleware,
): void {
  router.post('/rest/images', versioned, async (ctx) => {
    assertAction(ctx, 'initializeUpload');
    const request = readImage(await readRequestBody(ctx.req)).initializeUploadRequest;
    assertOwner(ctx, request.owner);
    const upload = uploads.begin(request.owner, null);
    ctx.body = {
      value: {
        uploadUrlExpiresAt: now() + expiresInMs,
        uploadUrl: addressOf(ctx, upload, 0),
        image: upload.urn,
      },
    };
  });

  router.post('/rest/videos', versioned, async (ctx) => {
    if (ctx.query['action'] === 'finalizeUpload') {
      await finalize(ctx, uploads);
      return;
    }
    assertAction(ctx, 'initializeUpload');
    const request = readVideo(await readRequestBody(ctx.req)).initializeUploadRequest;
    assertOwner(ctx, request.owner);
    const upload = uploads.begin(request.owner, request.fileSizeBytes);
    ctx.body = {
      value: {
        uploadUrlsExpireAt: now() + expiresInMs,
        video: upload.urn,
        uploadInstructions: upload.ranges.map((_, index) => ({
          uploadUrl: addressOf(ctx, upload, index),
          firstByte: index * rangeBytes,
          lastByte: Math.min((index + 1) * rangeBytes, request.fileSizeBytes) - 1,
        })),
        uploadToken: upload.uploadToken,
        captionsUploadUrl: '',
        thumbnailUploadUrl: '',
      },
    };
  });
}

async function finalize(ctx: Context, uploads: Uploads): Promise<void> {
  const { video, uploadToken, uploadedPartIds } = readFinal(
    await readRequestBody(ctx.req),
  ).finalizeUploadRequest;
  await uploads.finalize(video, uploadToken, uploadedPartIds);
  ctx.status = 200;
  ctx.body = '';
}

const addressOf = (ctx: Context, { secret }: Upload, index: number): string =>
  `${originOf(ctx)}/linkedin/dms-uploads/${secret}/${index}`;

function assertAction(ctx: Context, action: string): void {
  assertQuery(ctx.URL.searchParams, 'action');
  if (ctx.query['action'] !== action) {
    throw invalid(`There is no action "${String(ctx.query['action'])}"`);
  }
}

function assertOwner(ctx: Context, urn: string): void {
  if (!mayActFor(ctx, urn)) {
    throw accessDenied(`${ctx.path} for ${urn}`);
  }
}
