type Effect = {
  /** For the page. */
  readonly effect: string;
  /** What a network must do so that it has an effect there; nothing when absent. */
  readonly needs?: Trait;
};

/**
 * What some networks do, and others do not.
 *
 * - `works_on_files`: files are not ready at once.
 * - `refreshes`: it hands out refresh tokens, or may be told to.
 * - `refreshes_if_told`: it hands them out to few apps.
 * - `locks`: it makes posts of some apps private.
 * - `charges`: it charges for requests.
 * - `names_comments`: its versions name comments differently.
 */
export type Trait =
  | 'works_on_files'
  | 'refreshes'
  | 'refreshes_if_told'
  | 'locks'
  | 'charges'
  | 'names_comments';

/**
 * What the sandbox can be told to do to a post: by `#sandbox-<name>` in its text, or by a control call.
 *
 * `once`: for the first try of each post, and for so many requests as a control call says. The page shows this list.
 */
export const directives = {
  refuse: { once: false, effect: 'The network refuses the post and says why.' },
  duplicate: { once: false, effect: 'The network says that it has this post already.' },
  busy: {
    once: true,
    effect: 'The first try is rate limited and told to come back five seconds later.',
  },
  'busy-always': { once: false, effect: 'Every try is rate limited.' },
  lost: { once: true, effect: 'The network takes the post, but its answer never arrives.' },
  error: { once: true, effect: 'The network takes the post, and answers with an error (500).' },
  late: {
    once: true,
    effect: 'As lost, and for 20 seconds the network does not show the post to those who look.',
  },
  unconfirmed: {
    once: true,
    effect:
      'As lost, and for ten minutes nothing tells what became of the post: X and Mastodon show it with another text, in a list without an end, and Bluesky has another record in its place. Other posts are found. On LinkedIn and YouTube: as lost.',
  },
  revoke: {
    once: false,
    effect:
      'From now on the network refuses the account’s tokens. One that was signed in must sign in again; the others are given back by DELETE /control.',
  },
  expire: {
    once: true,
    effect:
      'The access tokens of an account that was signed in end at once. X, Bluesky and YouTube refresh them; Mastodon and LinkedIn give nothing to refresh, and the account must sign in again.',
  },
  slow: {
    once: true,
    effect:
      'Work on a file takes a while. YouTube reads it in the text, Mastodon in an alt text; X, LinkedIn and Bluesky (videos) get files before any text, so only a control call reaches them.',
    needs: 'works_on_files',
  },
  broken: {
    once: false,
    effect: 'Work on a file fails. Where it is read: as slow.',
    needs: 'works_on_files',
  },
  locked: {
    once: false,
    effect: 'YouTube makes the video private, as it does for apps that it has not audited.',
    needs: 'locks',
  },
} as const satisfies Record<string, Effect & { readonly once: boolean }>;

/** What only a control call can ask for: it concerns requests that have no text. */
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
    effect: 'LinkedIn names comments in its answers by $URN, as older versions of its API do.',
    needs: 'names_comments',
  },
  lifetime: { effect: 'New access tokens live so many `seconds`.' },
  'refresh-error': {
    effect: 'A refresh is answered with an error (500), and nothing happens.',
    needs: 'refreshes',
  },
  'refresh-busy': {
    effect: 'A refresh is rate limited (429), with a Retry-After.',
    needs: 'refreshes',
  },
  'refresh-silent': {
    effect: 'A refresh is not answered, and nothing happens.',
    needs: 'refreshes',
  },
  'refresh-lost': {
    effect: 'The network hands out new tokens, but its answer never arrives.',
    needs: 'refreshes',
  },
  'refresh-tokens': {
    effect: 'LinkedIn also hands out refresh tokens, as it does for few apps.',
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

/** What a network must do so that a directive has an effect there; undefined when nothing. */
export function neededBy(directive: Directive): Trait | undefined {
  const all: Readonly<Record<string, Effect>> = { ...directives, ...controlDirectives };
  return all[directive]?.needs;
}

/** The directives in some texts, in any case. */
export function directivesIn(texts: readonly string[]): ReadonlySet<Directive> {
  const names = texts.flatMap((text) => [
    ...text.toLowerCase().matchAll(/#sandbox-(?<name>[a-z]+(?:-[a-z]+)*)/gv),
  ]);
  const asked = names.map(({ groups }) => directiveNamed(groups?.['name'] ?? ''));
  return new Set(asked.filter((directive) => directive !== undefined));
}
