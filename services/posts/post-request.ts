import {
  anyFields,
  fields,
  listOf,
  mapOf,
  nullable,
  text,
  textOrFields,
  type Value,
} from '../../domain/json-schema.ts';
import { videoFields } from '../../domain/post-view.ts';
import { plainTexts } from '../../domain/texts.ts';
import { longestAltText } from '../media/file-texts.ts';

/** In characters: twice what any network allows. Validation time grows with the length, per channel. */
export const longestText = 50_000;

const postText = { ...text, maxLength: longestText };

const mediaIds = { ...listOf(text), maxItems: 100 };
const altTexts = { ...mapOf({ ...text, maxLength: longestAltText }), maxProperties: 100 };

const mediaList = {
  ...listOf(
    fields({
      media_id: { ...text, description: 'A file of the media library.' },
      url: {
        ...text,
        description: 'A public https link to an image or a video, which is downloaded.',
      },
      alt_text: {
        ...nullable({ ...text, maxLength: longestAltText }),
        description: 'For this post only. The alt text of the file itself if omitted or null.',
      },
    }),
  ),
  maxItems: 100,
};

export const threadPart = textOrFields(
  { maxLength: longestText },
  {
    media: {
      ...mediaList,
      description: 'Files of this part, in order, instead of `media_ids` and `alt_texts`.',
    },
    media_ids: { ...mediaIds, description: 'Files of this part, in order.' },
    alt_texts: {
      ...altTexts,
      description: 'By media id: the alt text of a file of this part, for this post only.',
    },
  },
);

/** The use case validates ids and texts, which have error codes of their own. */
const postFields = {
  body: {
    ...postText,
    description:
      'Text of a single post; may be empty beside files. In texts, other line breaks (CR LF, CR, U+000B, U+000C, U+0085, U+2028, U+2029) become `\\n`, other control characters are removed, and NUL is refused.',
  },
  thread: {
    ...listOf(threadPart),
    minItems: 1,
    maxItems: 25,
    description:
      'Posts of a thread, in order: texts, or objects with the files of that part. Takes precedence over `body`, with a `warning`. All texts of a post together, including `channel_bodies` and alt texts, have at most 300,000 characters; the first text counts for each channel that gets it. Its files, with those of `channel_media`, are at most 200.',
  },
  channel_ids: { ...listOf(text), maxItems: 100 },
  channel_bodies: {
    ...mapOf(postText),
    maxProperties: 100,
    description: 'By channel id: the text for that channel instead; a single post.',
  },
  channel_options: {
    ...mapOf(anyFields),
    maxProperties: 100,
    description:
      "By channel id: options for that channel, which override the channel's defaults. `GET /networks` has the schema of each network's options.",
  },
  scheduled_at: {
    ...nullable(text),
    description:
      'RFC 3339 with Z or an offset, or a local time such as `2027-03-01T10:00:00` with `timezone`. Omitted or null saves a draft.',
  },
  timezone: {
    ...text,
    maxLength: 64,
    description:
      'IANA name, such as `Europe/Berlin`: the time zone of a `scheduled_at` without an offset, and for showing the time. This call turns the local time into UTC; later changes of time-zone rules do not move the post. When clocks repeat an hour, the first one counts; a time that they skip moves to after the gap. Both get a `warning`, as does `Z` or an offset that the time zone does not have.',
  },
  schedule_in_minutes: {
    type: 'number',
    description:
      'Publish this many minutes from now. If `scheduled_at` is sent too, the minutes take precedence, and the `warning` of the post says so.',
  },
  media: {
    ...mediaList,
    description:
      'Files in order, each once, with `media_id` or `url`, instead of `media_ids`, `media_urls` and `alt_texts`. An edit by `media_urls` leaves them. In a thread they belong to the first part. A request downloads at most 10 files.',
  },
  channel_media: {
    ...mapOf(mediaList),
    maxProperties: 100,
    description:
      'By channel id: the files for that channel instead of all files of the post; an empty list for none. In a thread they belong to the first part.',
  },
  media_ids: {
    ...mediaIds,
    description:
      'Files of the media library, in order. In a thread they belong to the first part, which must not name files too.',
  },
  alt_texts: {
    ...altTexts,
    description:
      "By media id: alt text for a file of the post, or of its thread's first part, for this post only. Other files use their alt text from the library.",
  },
  media_urls: {
    ...listOf(text),
    maxItems: 10,
    description:
      'Public https links to images or a video of at most 200 MB each; attached after `media_ids`.',
  },
  video: {
    ...videoFields,
    description: 'For the video network; `made_for_kids` is required to schedule to it.',
  },
  tags: {
    ...listOf({ ...text, minLength: 1, maxLength: 50 }),
    maxItems: 20,
    description: 'Your own tags, each once, without blanks around it. No network gets them.',
  },
  metadata: {
    ...mapOf({ ...text, maxLength: 500 }),
    maxProperties: 20,
    description: 'Your own data, under keys of 1 to 40 characters. No network gets it.',
  },
  external_id: {
    ...text,
    minLength: 1,
    maxLength: 255,
    description: 'The id of the post in your system; no other post of the workspace has it.',
  },
} as const;

/** Fields that an answer may have as null: a creation ignores null, and an edit clears the field. */
const clearable = {
  body: nullable(postFields.body),
  thread: nullable(postFields.thread),
  channel_bodies: nullable(postFields.channel_bodies),
  channel_options: nullable(postFields.channel_options),
  media: nullable(postFields.media),
  channel_media: nullable(postFields.channel_media),
  media_ids: nullable(postFields.media_ids),
  alt_texts: nullable(postFields.alt_texts),
  video: nullable(postFields.video),
  tags: nullable(postFields.tags),
  metadata: nullable(postFields.metadata),
  external_id: nullable(postFields.external_id),
} as const;

export const createPostSchema = fields({
  ...postFields,
  ...clearable,
  channel_ids: nullable(postFields.channel_ids),
  timezone: nullable(postFields.timezone),
  schedule_in_minutes: nullable(postFields.schedule_in_minutes),
  media_urls: nullable(postFields.media_urls),
  idempotency_key: {
    ...nullable(text),
    minLength: 1,
    maxLength: 255,
    description: 'Same as the Idempotency-Key header. `POST /posts/validate` ignores it.',
  },
});
export type CreatePostBody = Value<typeof createPostSchema>;

export const editPostSchema = fields({
  ...postFields,
  ...clearable,
  scheduled_at: {
    ...nullable(text),
    description:
      'RFC 3339 with Z or an offset, or a local time in `timezone` or in the time zone of the post. Null turns the post into a draft.',
  },
  timezone: {
    ...nullable(postFields.timezone),
    description:
      'IANA name. Sent without a time, it keeps the local time of a scheduled post that has a time zone: 09:00 in Europe/Berlin becomes 09:00 in America/New_York, with a `warning`. A local `scheduled_at` without it is in the time zone of the post. Null clears it and keeps the time.',
  },
});
/** The fields of a new post, or those that an edit changes: null clears a field, and undefined leaves it unchanged. */
export type PostInput = Value<typeof editPostSchema>;

/** A new post has nothing to clear, so null means the same as an omitted field. */
export const withoutNulls = (body: CreatePostBody): PostInput =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

/** Makes the texts of a request fit for every network. The caller's own data stay as they are. */
export function plainInput(given: PostInput): PostInput {
  const { metadata, external_id: externalId, ...texts } = given;
  return {
    ...plainTexts(texts),
    ...(metadata === undefined ? {} : { metadata }),
    ...(externalId === undefined ? {} : { external_id: externalId }),
  };
}
