import { scopes } from '../../domain/api-keys.ts';
import {
  dateTime,
  fields,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';

const scope = oneOf(scopes);

const scopesOfKey = {
  ...listOf(scope),
  description:
    'What the key may do. `posts:write` creates and edits drafts, and cancels and deletes posts; `posts:publish` is needed in addition to give a post a time or to edit one that keeps it, and to retry, settle or unpublish a post. The others cover all calls of their resource. Texts of posts are shown by `posts:read`, by the answers of `posts:write` and `posts:publish`, by `analytics`, and by the events of `webhooks`.',
};

const channelIds = {
  ...nullable(listOf(uuid)),
  description:
    'The only channels that the key sees and uses; null for all. Such a key reads posts that have one of them, and creates and changes posts that have no others.',
};

const expiresAt = {
  ...nullable(dateTime),
  description: 'From then on the key is refused; null for never.',
};

const keyFields = {
  id: uuid,
  name: { ...nullable(text), description: 'What the key is for; null for a key without a name.' },
  last_four: { ...text, description: 'The last four characters of the key.' },
  scopes: scopesOfKey,
  channel_ids: channelIds,
  expires_at: expiresAt,
  last_used_at: { ...nullable(dateTime), description: 'Accurate to a minute; null before.' },
  created_at: dateTime,
};

export const keySchema = record(keyFields);

export const createdKeySchema = record({
  ...keyFields,
  key: { ...text, description: 'The key itself. Shown only here.' },
});

const given = {
  name: { ...text, minLength: 1, maxLength: 200, description: 'What the key is for.' },
  scopes: { ...scopesOfKey, minItems: 1, maxItems: 50 },
  channel_ids: {
    ...nullable(listOf(text)),
    minItems: 1,
    maxItems: 200,
    description: `${channelIds.description} It cannot have the scope \`webhooks\`.`,
  },
  expires_at: {
    ...nullable(text),
    description: 'RFC 3339 with `Z` or an offset, in the future; null for never.',
  },
};

export const createKeySchema = fields(given, ['name', 'scopes']);

export const workspaceKeySchema = fields({
  name: given.name,
  scopes: given.scopes,
  expires_at: given.expires_at,
});

/** Fields that are sent change; null clears. */
export const editKeySchema = fields({ ...given });

export const keyInput = <B extends Value<typeof editKeySchema>>({
  channel_ids: ids,
  expires_at: at,
  ...rest
}: B) => ({
  ...rest,
  ...(ids === undefined ? {} : { channelIds: ids }),
  ...(at === undefined ? {} : { expiresAt: at }),
});
