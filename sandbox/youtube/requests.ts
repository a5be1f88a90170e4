import type { youtube_v3 } from '@googleapis/youtube';
import { Ajv, type ValidateFunction } from 'ajv';
import type { Context } from 'koa';
import { readRequestBody } from '../body.ts';
import { badRequest } from './refusals.ts';

const ajv = new Ajv({ allErrors: false });

const strictly = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

const text = { type: 'string' };
const flag = { type: 'boolean' };

/** Fields that may be set; the compiler checks that they exist in Google's types. */
type Fields<T> = Partial<Record<keyof T, object>>;

const snippet = {
  title: text,
  description: text,
  tags: { type: 'array', items: text },
  categoryId: { type: 'string', pattern: '^[0-9]+$' },
  defaultLanguage: text,
  defaultAudioLanguage: text,
} satisfies Fields<youtube_v3.Schema$VideoSnippet>;

const status = {
  privacyStatus: { type: 'string', enum: ['public', 'unlisted', 'private'] },
  selfDeclaredMadeForKids: flag,
  containsSyntheticMedia: flag,
  embeddable: flag,
  license: { type: 'string', enum: ['youtube', 'creativeCommon'] },
  publicStatsViewable: flag,
} satisfies Fields<youtube_v3.Schema$VideoStatus>;

const video = {
  snippet: strictly(snippet, ['title']),
  status: strictly(status),
} satisfies Fields<youtube_v3.Schema$Video>;

const comment = { textOriginal: text } satisfies Fields<youtube_v3.Schema$CommentSnippet>;

const commentThread = {
  channelId: text,
  videoId: text,
  topLevelComment: strictly({ snippet: strictly(comment, ['textOriginal']) }, ['snippet']),
} satisfies Fields<youtube_v3.Schema$CommentThreadSnippet>;

/** The metadata of a video. */
export type VideoRequest = {
  readonly snippet: {
    readonly title: string;
    readonly description?: string;
    readonly tags?: readonly string[];
    readonly categoryId?: string;
  };
  readonly status?: {
    readonly privacyStatus?: string;
    readonly selfDeclaredMadeForKids?: boolean;
    readonly containsSyntheticMedia?: boolean;
  };
};

type CommentRequest = {
  readonly snippet: {
    readonly videoId: string;
    readonly topLevelComment: { readonly snippet: { readonly textOriginal: string } };
  };
};

const isVideoRequest = ajv.compile<VideoRequest>(strictly(video, ['snippet']));
const isCommentRequest = ajv.compile<CommentRequest>(
  strictly({ snippet: strictly(commentThread, ['videoId', 'topLevelComment']) }, ['snippet']),
);

/** @throws Refusal 400 for unknown fields or wrong types. */
export const readVideoRequest = (ctx: Context): Promise<VideoRequest> =>
  readAs(ctx, isVideoRequest);

/** @throws Refusal 400, like `readVideoRequest`. */
export const readCommentRequest = (ctx: Context): Promise<CommentRequest> =>
  readAs(ctx, isCommentRequest);

async function readAs<T>(ctx: Context, isValid: ValidateFunction<T>): Promise<T> {
  const body: unknown = await readRequestBody(ctx.req);
  if (!isValid(body)) {
    const [error] = isValid.errors ?? [];
    const name = error?.params['additionalProperty'] ?? error?.instancePath ?? '';
    const message = `Invalid JSON payload received. Unknown name or value "${name}": ${error?.message}.`;
    throw badRequest('badRequest', message);
  }
  return body;
}

/**
 * Reads the requested parts.
 *
 * @param others The call's other parameters.
 * @throws Refusal 400 for an unknown parameter or part.
 */
export function partsOf(
  ctx: Context,
  parts: readonly string[],
  others: readonly string[] = [],
): readonly string[] {
  takesOnly(ctx, ['part', ...others]);
  const asked = (ctx.URL.searchParams.get('part') ?? '').split(',');
  if (asked.join('') === '') {
    throw badRequest('missingRequiredParameter', 'No value for the parameter part.');
  }
  const unknown = asked.find((part) => !parts.includes(part));
  if (unknown !== undefined) {
    throw badRequest('unknownPart', `The call has no part "${unknown}".`);
  }
  return asked;
}

/** @throws Refusal 400 for an unknown parameter. */
export function takesOnly(ctx: Context, names: readonly string[]): void {
  const other = [...ctx.URL.searchParams.keys()].find((name) => !names.includes(name));
  if (other !== undefined) {
    throw badRequest('unexpectedParameter', `The call has no parameter "${other}".`);
  }
}

/** A page of a list, and the token of the next one. */
export function pageOf<T>(ctx: Context, all: readonly T[], most: number, usual: number) {
  const query = ctx.URL.searchParams;
  const size = Number(query.get('maxResults') ?? usual);
  const token = query.get('pageToken');
  const start = token === null ? 0 : Number(/^CAUQ(?<at>\d{1,9})$/v.exec(token)?.groups?.['at']);
  if (!Number.isInteger(size) || size < 1 || size > most) {
    throw badRequest('invalidParameter', `maxResults must be a number from 1 to ${most}.`);
  }
  if (Number.isNaN(start)) {
    throw badRequest('invalidPageToken', 'The request specifies an invalid page token.');
  }
  const end = start + size;
  return {
    items: all.slice(start, end),
    more: {
      ...(end < all.length && { nextPageToken: `CAUQ${end}` }),
      pageInfo: { totalResults: all.length, resultsPerPage: size },
    },
  };
}
