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
        'Who sees the post: everybody, everybody but not in public timelines (`unlisted`), followers (`private`), or only who is mentioned in it (`direct`). `public` when left out.',
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
        'Whether images and videos are hidden at first. What the account has set when left out; on Mastodon always so with a content warning.',
    },
    language: {
      type: 'string',
      pattern: '^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$',
      maxLength: 20,
      description:
        'Of the text, as an ISO 639 code such as `en`. What the account has set when left out.',
    },
  },
};

/** What was chosen for a status. What is missing is left to the server. */
export type Choice = {
  readonly visibility: (typeof visibilities)[number];
  readonly spoilerText?: string;
  readonly isSensitive?: boolean;
  readonly language?: string;
};

/** Reads the options of a channel. A value of another shape than the schema says counts as left out. */
export function choiceOf(options: Options): Choice {
  const { visibility, spoiler_text: spoilerText, sensitive, language } = options;
  return {
    visibility: visibilities.find((known) => known === visibility) ?? 'public',
    ...(typeof spoilerText === 'string' && !isBlank(spoilerText) && { spoilerText }),
    ...(typeof sensitive === 'boolean' && { isSensitive: sensitive }),
    ...(typeof language === 'string' && { language }),
  };
}

/** What a server makes of a choice otherwise than one may think. */
export function choiceWarnings({ texts, options }: Content): string[] {
  const { visibility, spoilerText } = choiceOf(options);
  const shown = texts.length === 0 ? [''] : texts;
  const isUnseen = visibility === 'direct' && shown.some((text) => !/(?<!\w)@\w/v.test(text));
  return [
    ...(isUnseen
      ? [
          'A direct post is seen by those whom it mentions, and here is a text that mentions nobody.',
        ]
      : []),
    // Mastodon's `PostStatusService`.
    ...(spoilerText !== undefined && shown.some(isBlank)
      ? [
          'Without a text, Mastodon shows the content warning as the text, and hides nothing behind it.',
        ]
      : []),
  ];
}
