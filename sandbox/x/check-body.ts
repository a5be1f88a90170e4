import { Ajv, type SchemaObject } from 'ajv';
import { invalid } from './problems.ts';
import type { CreatePost, InitializeUpload, MediaMetadata, SchemaOf } from './wire.ts';

const id = { type: 'string', pattern: '^[0-9]{1,19}$' };
const textSchema = { type: 'string' };
const yesOrNo = { type: 'boolean' };
const strict = { type: 'object', additionalProperties: false } as const;

/** Fields and limits of X's OpenAPI document 2.167. */
const createPostSchema: SchemaOf<CreatePost> = {
  ...strict,
  properties: {
    card_uri: textSchema,
    community_id: id,
    direct_message_deep_link: textSchema,
    edit_options: {
      ...strict,
      required: ['previous_post_id'],
      properties: { previous_post_id: id },
    },
    for_super_followers_only: yesOrNo,
    geo: { ...strict, required: ['place_id'], properties: { place_id: textSchema } },
    made_with_ai: yesOrNo,
    media: {
      ...strict,
      required: ['media_ids'],
      properties: {
        call_to_actions: { type: 'object' },
        description: textSchema,
        embeddable: yesOrNo,
        media_ids: { type: 'array', minItems: 1, maxItems: 4, items: id },
        preview_media_id: id,
        tagged_user_ids: { type: 'array', maxItems: 10, items: id },
        title: textSchema,
      },
    },
    nullcast: yesOrNo,
    paid_partnership: yesOrNo,
    poll: { type: 'object' },
    quote_tweet_id: id,
    reply: {
      ...strict,
      required: ['in_reply_to_tweet_id'],
      properties: {
        auto_populate_reply_metadata: yesOrNo,
        exclude_reply_user_ids: { type: 'array', items: textSchema },
        in_reply_to_tweet_id: id,
      },
    },
    reply_settings: { enum: ['following', 'mentionedUsers', 'subscribers', 'verified'] },
    share_with_followers: yesOrNo,
    text: textSchema,
  },
};

const initializeSchema: SchemaOf<InitializeUpload> = {
  ...strict,
  properties: {
    additional_owners: { type: 'array', items: id },
    media_category: textSchema,
    media_type: textSchema,
    shared: yesOrNo,
    total_bytes: { type: 'integer', minimum: 0, maximum: 17_179_869_184 },
  },
};

const metadataSchema: SchemaOf<MediaMetadata> = {
  ...strict,
  required: ['id'],
  properties: {
    id,
    metadata: {
      type: 'object',
      additionalProperties: false,
      properties: {
        alt_text: {
          type: 'object',
          required: ['text'],
          properties: { text: { type: 'string', maxLength: 1000 } },
        },
      },
    },
  },
};

const ajv = new Ajv({ strict: false });

/** @throws Refusal 400 that names the wrong field. */
function checker<Body>(schema: SchemaObject): (body: unknown) => Body {
  const isValid = ajv.compile<Body>(schema);
  return (body) => {
    if (!isValid(body)) {
      throw invalid(ajv.errorsText(isValid.errors, { dataVar: '$' }));
    }
    return body;
  };
}

export const checkCreatePost = checker<CreatePost>(createPostSchema);
export const checkInitialize = checker<InitializeUpload>(initializeSchema);
export const checkMetadata = checker<MediaMetadata>(metadataSchema);

/** Fields of X that the sandbox does not support. */
const unplayed = [
  'card_uri',
  'community_id',
  'direct_message_deep_link',
  'edit_options',
  'for_super_followers_only',
  'geo',
  'nullcast',
  'poll',
  'quote_tweet_id',
  'reply_settings',
  'share_with_followers',
] as const satisfies readonly (keyof CreatePost)[];

/** @throws Refusal 400 */
export function assertPlayed(body: CreatePost): void {
  const extra = unplayed.find((name) => body[name] !== undefined);
  if (extra !== undefined) {
    throw invalid(`The sandbox has no ${extra}.`);
  }
}
