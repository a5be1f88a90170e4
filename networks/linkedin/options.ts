import type { Options, OptionsSchema } from '../content-rules.ts';

/** In UTF-16 code units, the strictest reading of "characters". */
export const maxCommentLength = 1250;

const visibilities = ['PUBLIC', 'CONNECTIONS'] as const;
type Visibility = (typeof visibilities)[number];

/**
 * Sources: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api,
 * https://learn.microsoft.com/linkedin/marketing/community-management/shares/comments-api
 */
export const optionsSchema: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    visibility: {
      type: 'string',
      enum: visibilities,
      description:
        "Who may see the post: everybody, or the member's connections. Default: `PUBLIC`; the page of an organisation accepts nothing else.",
    },
    first_comment: {
      type: 'string',
      minLength: 1,
      maxLength: maxCommentLength,
      description:
        "Written below the post by the same account after publication. LinkedIn allows comments only to apps of its Community Management API; with another app's token the post is published and the comment fails.",
    },
    link_card: {
      type: 'boolean',
      description:
        'Whether a post without files shows a card of its first link, with the title, the description and the picture of that page. Default: true.',
    },
  },
};

/** The options of a post. */
export type Choice = {
  readonly visibility: Visibility;
  readonly hasLinkCard: boolean;
  readonly firstComment?: string;
};

/** Reads options of any shape: the API has checked them, but other callers of the rules have not. */
export function choiceOf({
  visibility,
  first_comment: firstComment,
  link_card: linkCard,
}: Options): Choice {
  return {
    visibility: visibilities.find((one) => one === visibility) ?? 'PUBLIC',
    hasLinkCard: linkCard !== false,
    ...(typeof firstComment === 'string' && { firstComment }),
  };
}
