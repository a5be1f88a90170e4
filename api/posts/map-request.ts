import { fingerprint, type RequestKey } from '../../services/idempotency.ts';
import type { PostInput } from '../../services/posts/content.ts';
import type { Validation } from '../../services/posts/validate-post.ts';
import { idempotencyKey } from '../http/idempotency.ts';
import type { Request } from '../http/route.ts';
import type { CreatePostBody, EditPostBody } from './schemas.ts';
import type { Validated } from './validation-schemas.ts';

/** Maps the body of a creation, a validation or an edit. */
export const postInput = (body: EditPostBody): PostInput => ({
  body: body.body,
  thread: body.thread && body.thread.map(partOf),
  channelIds: body.channel_ids,
  channelBodies: body.channel_bodies,
  channelOptions: body.channel_options,
  scheduledAt: body.scheduled_at,
  scheduleInMinutes: body.schedule_in_minutes,
  timezone: body.timezone,
  mediaIds: body.media_ids,
  altTexts: body.alt_texts,
  mediaUrls: body.media_urls,
  media: body.media && body.media.map(itemOf),
  channelMedia: body.channel_media && listsOf(body.channel_media),
  video: body.video,
  tags: body.tags,
  metadata: body.metadata,
  externalId: body.external_id,
});

type Item = NonNullable<EditPostBody['media']>[number];

const itemOf = ({ media_id: mediaId, url, alt_text: altText }: Item) => ({ mediaId, url, altText });

const listsOf = (lists: NonNullable<EditPostBody['channel_media']>) =>
  Object.fromEntries(Object.entries(lists).map(([id, items]) => [id, items.map(itemOf)]));

type Part = NonNullable<EditPostBody['thread']>[number];

const partOf = (part: Part): NonNullable<PostInput['thread']>[number] =>
  typeof part === 'string'
    ? part
    : {
        text: part.text,
        media: part.media?.map(itemOf),
        mediaIds: part.media_ids,
        altTexts: part.alt_texts,
      };

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
export function createKey(
  header: Request['header'],
  { idempotency_key: fromBody, ...rest }: CreatePostBody,
): RequestKey | undefined {
  const key = idempotencyKey(header, fromBody);
  return key === undefined ? undefined : { key, print: fingerprint(rest) };
}
