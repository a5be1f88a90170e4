import type { Content, Options, OptionsSchema } from '../content-rules.ts';
import { isBlank } from '../validation/texts.ts';

const visibilities = ['public', 'unlisted', 'private', 'direct'] as const;

/** Source: https://docs.joinmastodon.org/methods/statuses/#create */
export const optionsSchema: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    visibility: {
      type: 'string',
      enum: visibilities,
      description:
        'Who sees the post: everybody, everybody except public timelines (`unlisted`), followers (`private`), or only the accounts that it mentions (`direct`). Default: `public`.',
    },
    spoiler_text: {
      type: 'string',
      minLength: 1,
      maxLength: 5000,
      description:
        'A content warning: each text of the post is hidden behind it. Counts towards the length of the text.',
    },
    sensitive: {
      type: 'boolean',
      description:
        "Whether images and videos are hidden at first. Default: the account's own setting; on Mastodon always true with a content warning.",
    },
    language: {
      type: 'string',
      pattern: '^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$',
      maxLength: 20,
      description:
        "The language of the text, as an ISO 639 code such as `en`. Default: the account's own setting.",
    },
  },
};

/** The options of a status. Absent ones are left to the server. */
export type Choice = {
  readonly visibility: (typeof visibilities)[number];
  readonly spoilerText?: string;
  readonly isSensitive?: boolean;
  readonly language?: string;
};

/** Reads the options of a channel. A value that does not fit the schema is ignored. */
export function choiceOf(options: Options): Choice {
  const { visibility, spoiler_text: spoilerText, sensitive, language } = options;
  return {
    visibility: visibilities.find((known) => known === visibility) ?? 'public',
    ...(typeof spoilerText === 'string' && !isBlank(spoilerText) && { spoilerText }),
    ...(typeof sensitive === 'boolean' && { isSensitive: sensitive }),
    ...(typeof language === 'string' && { language }),
  };
}

/** Warns of options with effects that the owner may not expect. */
export function choiceWarnings({ texts, options }: Content): string[] {
  const { visibility, spoilerText } = choiceOf(options);
  const shown = texts.length === 0 ? [''] : texts;
  const isUnseen = visibility === 'direct' && shown.some((text) => !/(?<!\w)@\w/v.test(text));
  return [
    ...(isUnseen
      ? [
          'A direct post is seen only by the accounts that it mentions, and one of its texts mentions no account.',
        ]
      : []),
    // Source: Mastodon's `PostStatusService`.
    ...(spoilerText !== undefined && shown.some(isBlank)
      ? [
          'Without a text, Mastodon shows the content warning as the text, and hides nothing behind it.',
        ]
      : []),
  ];
}
