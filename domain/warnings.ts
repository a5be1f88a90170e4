import { nullable, record, text, uuid, type Value } from './json-schema.ts';

const faultFields = {
  message: { ...text, description: 'A sentence for people.' },
  path: {
    ...text,
    description: 'A JSON pointer into the request; empty for a problem of several fields.',
  },
  rule: {
    ...text,
    description:
      'The rule that is broken. More may be added: `text_length`, `text_missing`, `field_missing`, `file_type`, `file_count`, `file_size`, `file_pixels`, `file_dimensions`, `file_aspect_ratio`, `file_duration`, `file_frames`, `file_frame_rate`, `alt_text_length`, `channel_access`, `same_text`, `local_time`, `field_ignored`, `file_repeated`, `file_missing`, `other`.',
  },
  limit: {
    ...nullable({ type: 'number' }),
    description:
      'The most or the least that the rule allows: characters or bytes of a text as `unit` says, bytes of a file, milliseconds, pixels. Null for a rule without a number.',
  },
  actual: { ...nullable({ type: 'number' }), description: 'The actual value, in the same unit.' },
};
/** A problem of a post's content. */
export const contentFault = record(faultFields);
export type ContentFault = Value<typeof contentFault>;

export const postWarning = record({
  channel_id: { ...nullable(uuid), description: 'Null for a warning about the post as a whole.' },
  ...faultFields,
});
export type PostWarning = Value<typeof postWarning>;

/** A warning without a number. */
export const plainFault = (message: string, rule = 'other', path = ''): ContentFault => ({
  message,
  path,
  rule,
  limit: null,
  actual: null,
});

/** The warnings of a row. Versions without lists change only the string, so a list with other sentences is outdated. */
export const warningsOf = (
  warning: string | null,
  list: readonly PostWarning[] | null,
): PostWarning[] =>
  list?.length && list.every(({ message }) => warning?.includes(message))
    ? [...list]
    : warning === null
      ? []
      : [{ channel_id: null, ...plainFault(warning) }];
