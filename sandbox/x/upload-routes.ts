import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { readFormBody } from '../body.ts';
import { checkInitialize, checkMetadata } from './check-body.ts';
import type { XDeps } from './create-post.ts';
import { invalid } from './problems.ts';
import { readJson } from './read-json.ts';
import { isCategory } from './upload.ts';
import type { AppendAnswer, AppendField, MetadataAnswer, UploadField } from './wire.ts';

const uploadFields = {
  media: true,
  media_category: true,
  additional_owners: false,
} as const satisfies Record<UploadField, boolean>;
const appendFields = {
  media: true,
  segment_index: true,
} as const satisfies Record<AppendField, boolean>;

/** The limit of a segment: 5 MB. */
const maxSegment = 5 * 1024 * 1024;

export function addUploadRoutes(router: Router, { uploads }: XDeps): void {
  router.post('/media/upload', async (ctx) => {
    const { media, fields } = await mediaIn(ctx, uploadFields);
    const { media_category: category = '' } = fields;
    if (!isCategory(category)) {
      throw invalid(`The media category ${category} is unknown.`);
    }
    ctx.body = await uploads.whole(category, media);
  });

  router.post('/media/upload/initialize', async (ctx) => {
    ctx.body = uploads.initialize(checkInitialize(await readJson(ctx)));
  });

  router.post('/media/upload/:id/append', async (ctx) => {
    const { media, fields } = await mediaIn(ctx, appendFields);
    const { segment_index: index = '' } = fields;
    if (!/^\d{1,3}$/v.test(index)) {
      throw invalid(`The segment_index [${index}] is not between 0 and 999.`);
    }
    const answer: AppendAnswer = uploads.append(ctx.params.id ?? '', Number(index), media);
    ctx.body = answer;
  });

  router.post('/media/upload/:id/finalize', async (ctx) => {
    ctx.body = await uploads.finalize(ctx.params.id ?? '');
  });

  router.get('/media/upload', (ctx) => {
    const { media_id: id, command, ...unknown } = ctx.query;
    const [extra] = Object.keys(unknown);
    if (extra !== undefined || typeof id !== 'string' || (command ?? 'STATUS') !== 'STATUS') {
      throw invalid(`The query parameters ${ctx.querystring} are not a media_id and STATUS.`);
    }
    ctx.body = uploads.status(id);
  });

  router.post('/media/metadata', async (ctx) => {
    const { id, metadata } = checkMetadata(await readJson(ctx));
    uploads.describe(id, metadata?.alt_text?.text ?? '');
    const answer: MetadataAnswer = { data: { id, associated_metadata: { ...metadata } } };
    ctx.body = answer;
  });
}

/** @throws Refusal 400 for a form with an unknown field, or without its file. */
async function mediaIn(
  ctx: Context,
  known: Readonly<Record<string, boolean>>,
): Promise<{ media: Buffer; fields: Readonly<Record<string, string>> }> {
  const form = await readFormBody(ctx.req, maxSegment);
  const fields: Record<string, string> = {};
  for (const [name, value] of form) {
    if (!known[name]) {
      throw invalid(`The field [${name}] is not one of [${Object.keys(known).join(',')}]`);
    }
    if (typeof value === 'string') {
      fields[name] = value;
    }
  }
  const media = form.get('media');
  if (!(media instanceof File)) {
    throw invalid('The form has no media.');
  }
  return { media: Buffer.from(await media.arrayBuffer()), fields };
}
