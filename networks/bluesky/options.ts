import type { Options, OptionsSchema } from '../content-rules.ts';

/** Labels that accounts may put on their own posts. Source: https://docs.bsky.app/docs/advanced-guides/moderation */
const labels = ['sexual', 'nudity', 'porn', 'graphic-media'] as const;

/**
 * The lexicon's format `language`, without private tags: language, script, region, variants, extensions.
 * Source: lexicon `app.bsky.feed.post`, RFC 5646 section 2.1.
 */
const language =
  '^[a-z]{2,3}(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*(?:-[A-WY-Za-wy-z0-9](?:-[A-Za-z0-9]{2,8})+)*$';

export const optionsSchema: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    langs: {
      type: 'array',
      maxItems: 3,
      uniqueItems: true,
      items: { type: 'string', pattern: language, maxLength: 35 },
      description: 'Languages of the text, up to three, as BCP 47 tags such as `en` or `pt-BR`.',
    },
    labels: {
      type: 'array',
      maxItems: labels.length,
      uniqueItems: true,
      items: { type: 'string', enum: labels },
      description: 'Content warnings that readers see before the post.',
    },
    link_card: {
      type: 'boolean',
      description:
        'Whether a text without files shows a card of its first link, with the title, the description and the picture of that page. Default: true.',
    },
  },
};

export type Choice = {
  readonly langs: readonly string[];
  readonly labels: readonly string[];
  readonly hasLinkCard: boolean;
};

/** Reads the options of a channel. A value that does not fit the schema is ignored. */
export const choiceOf = (options: Options): Choice => ({
  langs: textsOf(options['langs']),
  labels: textsOf(options['labels']),
  hasLinkCard: options['link_card'] !== false,
});

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
