import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { headerText } from '../../runtime/bytes.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { PostInput } from '../../services/posts/content.ts';
import type { RequestKey } from '../../services/posts/idempotency.ts';
import type { Validation } from '../../services/posts/validate-post.ts';
import type { CreatePostBody, EditPostBody, Validated } from './schemas.ts';

/** Maps the body of a creation, a validation or an edit. */
export const postInput = (body: EditPostBody): PostInput => ({
  body: body.body,
  thread: body.thread && body.thread.map(partOf),
  channelIds: body.channel_ids,
  channelBodies: body.channel_bodies,
  channelOptions: body.channel_options,
  scheduledAt: body.scheduled_at,
  scheduleInMinutes: body.schedule_in_minutes,
  mediaIds: body.media_ids,
  altTexts: body.alt_texts,
  mediaUrls: body.media_urls,
  video: body.video,
});

type Part = NonNullable<EditPostBody['thread']>[number];

const partOf = (part: Part): NonNullable<PostInput['thread']>[number] =>
  typeof part === 'string'
    ? part
    : { text: part.text, mediaIds: part.media_ids, altTexts: part.alt_texts };

/** Maps the result of a validation. */
export const presentValidated = ({ valid, warning, channels }: Validation): Validated => ({
  valid,
  warning,
  channels: channels.map(
    ({ channelId, platform, handle, errors, warnings, priceUsd, texts, ...nearest }) => ({
      channel_id: channelId,
      platform,
      handle,
      errors,
      warnings,
      price_usd: priceUsd,
      ...nearest,
      texts,
    }),
  ),
});

/** Returns the idempotency key of a creation with the fingerprint of its body; undefined without a key. */
export function requestKey(
  header: string | undefined,
  body: CreatePostBody,
): RequestKey | undefined {
  const key = idempotencyKey(header, body.idempotency_key);
  return key === undefined ? undefined : { key, print: fingerprint(body) };
}

/**
 * Returns the idempotency key from the header or the body. Both may be sent if they are equal.
 *
 * @throws AppError `invalid_request` when they differ, or the key is empty, too long or not valid text.
 */
function idempotencyKey(
  header: string | undefined,
  fromBody: string | undefined,
): string | undefined {
  const fromHeader = header === undefined ? undefined : headerText(header);
  if (fromHeader !== undefined && fromBody !== undefined && fromHeader !== fromBody) {
    throw new AppError(
      'invalid_request',
      'The Idempotency-Key header and idempotency_key in the body differ. Send one of them.',
    );
  }

  const key = fromHeader ?? fromBody;
  if (key !== undefined && (key === '' || key.length > 255 || !isText(key))) {
    const message =
      'must have 1 to 255 characters, without NUL and without half of a surrogate pair';
    const details = [{ path: '/idempotency_key', message }];
    const where = fromHeader === undefined ? { details } : {};
    throw new AppError('invalid_request', `An idempotency key ${message}.`, where);
  }

  return key;
}

/** Hashes a request independent of the order of its fields and without its key. */
function fingerprint({ idempotency_key: _, ...rest }: CreatePostBody): string {
  return sha256Hex(canonical(rest));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(',')}]`;
  }

  if (value !== null && typeof value === 'object') {
    const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
  }

  return JSON.stringify(value);
}
