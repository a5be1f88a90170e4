type Effect = {
  /** Shown on the page. */
  readonly effect: string;
  /** The trait that a network needs for this directive; none when absent. */
  readonly needs?: Trait;
};

/**
 * Traits that only some networks have.
 *
 * - `works_on_files`: files are processed before they are ready.
 * - `refreshes`: issues refresh tokens, at least after a directive.
 * - `refreshes_if_told`: issues them to few apps.
 * - `locks`: makes posts of some apps private.
 * - `charges`: charges for requests.
 * - `names_comments`: names comments differently in versions of its API.
 */
export type Trait =
  | 'works_on_files'
  | 'refreshes'
  | 'refreshes_if_told'
  | 'locks'
  | 'charges'
  | 'names_comments';

/**
 * Directives for a post: as `#sandbox-<name>` in its text, or in a control call.
 *
 * `once`: applies to the first attempt of each post, or to the number of requests in a control call. The page shows
 * this list.
 */
export const directives = {
  refuse: { once: false, effect: 'The network refuses the post and gives a reason.' },
  duplicate: { once: false, effect: 'The network refuses the post as a duplicate.' },
  busy: {
    once: true,
    effect: 'The first attempt is rate limited for five seconds.',
  },
  'busy-always': { once: false, effect: 'Every attempt is rate limited.' },
  lost: { once: true, effect: 'The network publishes the post, but its response never arrives.' },
  error: {
    once: true,
    effect: 'The network publishes the post, but responds with an error (500).',
  },
  late: {
    once: true,
    effect: 'Like lost, and the network hides the post for 20 seconds.',
  },
  unconfirmed: {
    once: true,
    effect:
      'Like lost, and for ten minutes the post cannot be identified: X and Mastodon show it with another text in an endless list, and Bluesky has another record in its place. Other posts are found. On LinkedIn and YouTube: like lost.',
  },
  revoke: {
    once: false,
    effect:
      'From now on the network refuses the account’s tokens. An account that signed in must sign in again; DELETE /control restores the fixed tokens.',
  },
  expire: {
    once: true,
    effect:
      'The access tokens of an account that signed in expire immediately. X, Bluesky and YouTube refresh them; Mastodon and LinkedIn have no refresh tokens, so the account must sign in again.',
  },
  slow: {
    once: true,
    effect:
      'Processing of a file takes a while. YouTube reads the directive in the text, Mastodon in an alt text. X, LinkedIn and Bluesky (videos) get files before any text, so use a control call there.',
    needs: 'works_on_files',
  },
  broken: {
    once: false,
    effect: 'Processing of a file fails. Where to write the directive: like slow.',
    needs: 'works_on_files',
  },
  locked: {
    once: false,
    effect: 'YouTube makes the video private, as it does for apps that it has not audited.',
    needs: 'locks',
  },
} as const satisfies Record<string, Effect & { readonly once: boolean }>;

/** Directives only for control calls: they affect requests without a text. */
export const controlDirectives = {
  'no-credits': {
    effect: 'X refuses requests with 402, as it does when the app has no credits left.',
    needs: 'charges',
  },
  'spend-cap': {
    effect:
      'X refuses requests, and requests for tokens, with 403 SpendCapReached, as it does when the app has reached its spend cap.',
    needs: 'charges',
  },
  'comment-urn': {
    effect: 'LinkedIn identifies comments in responses by $URN, like older versions of its API.',
    needs: 'names_comments',
  },
  lifetime: { effect: 'New access tokens expire after this number of `seconds`.' },
  'refresh-error': {
    effect: 'A refresh fails with an error (500) and changes nothing.',
    needs: 'refreshes',
  },
  'refresh-busy': {
    effect: 'A refresh is rate limited (429), with a Retry-After.',
    needs: 'refreshes',
  },
  'refresh-silent': {
    effect: 'A refresh gets no response and changes nothing.',
    needs: 'refreshes',
  },
  'refresh-lost': {
    effect: 'The network issues new tokens, but its response never arrives.',
    needs: 'refreshes',
  },
  'refresh-tokens': {
    effect: 'LinkedIn also issues refresh tokens, as it does for few apps.',
    needs: 'refreshes_if_told',
  },
} as const satisfies Record<string, Effect>;

export type TextDirective = keyof typeof directives;
export type Directive = TextDirective | keyof typeof controlDirectives;

export const directiveNames = [
  ...Object.keys(directives),
  ...Object.keys(controlDirectives),
] as readonly Directive[];

/** Names of earlier versions. */
const formerNames: ReadonlyMap<string, Directive> = new Map([['revoked', 'revoke']]);

export function directiveNamed(name: string): Directive | undefined {
  return formerNames.get(name) ?? directiveNames.find((known) => known === name);
}

/** The trait that a network needs for a directive; undefined when any network supports it. */
export function neededBy(directive: Directive): Trait | undefined {
  const all: Readonly<Record<string, Effect>> = { ...directives, ...controlDirectives };
  return all[directive]?.needs;
}

/** The directives in some texts. Ignores case. */
export function directivesIn(texts: readonly string[]): ReadonlySet<Directive> {
  const names = texts.flatMap((text) => [
    ...text.toLowerCase().matchAll(/#sandbox-(?<name>[a-z]+(?:-[a-z]+)*)/gv),
  ]);
  const asked = names.map(({ groups }) => directiveNamed(groups?.['name'] ?? ''));
  return new Set(asked.filter((directive) => directive !== undefined));
}
