type Effect = {
  /** For the page. */
  readonly effect: string;
  /** Where it does something; everywhere when absent. */
  readonly networks?: readonly string[];
};

/** The others take files as they are. */
const worksOnFiles = ['mastodon', 'linkedin', 'x', 'youtube'];
/** The others hand out no refresh tokens. */
const refreshes = ['bluesky', 'linkedin', 'x', 'youtube'];

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
    effect: 'As lost, and for a minute the network answers no one who looks for posts.',
  },
  revoke: {
    once: false,
    effect:
      'From now on the network refuses the account’s tokens. One that was signed in must sign in again; the others are given back by DELETE /control.',
  },
  expire: {
    once: true,
    effect:
      'The access tokens of an account that was signed in end at once. They can be refreshed.',
  },
  slow: {
    once: true,
    effect:
      'Work on a file takes a while. YouTube reads it in the text, Mastodon in an alt text; X and LinkedIn get files before any text, so only a control call reaches them.',
    networks: worksOnFiles,
  },
  broken: {
    once: false,
    effect: 'Work on a file fails. Where it is read: as slow.',
    networks: worksOnFiles,
  },
  locked: {
    once: false,
    effect: 'YouTube makes the video private, as it does for apps that it has not audited.',
    networks: ['youtube'],
  },
} as const satisfies Record<string, Effect & { readonly once: boolean }>;

/** What only a control call can ask for: it is about signing in, and there is no text in that. */
export const signInDirectives = {
  lifetime: { effect: 'New access tokens live so many `seconds`.' },
  'refresh-error': {
    effect: 'A refresh is answered with an error (500), and nothing happens.',
    networks: refreshes,
  },
  'refresh-busy': {
    effect: 'A refresh is rate limited (429), with a Retry-After.',
    networks: refreshes,
  },
  'refresh-silent': {
    effect: 'A refresh is not answered, and nothing happens.',
    networks: refreshes,
  },
  'refresh-lost': {
    effect: 'The network hands out new tokens, but its answer never arrives.',
    networks: refreshes,
  },
  'refresh-tokens': {
    effect: 'LinkedIn also hands out refresh tokens, as it does for few apps.',
    networks: ['linkedin'],
  },
} as const satisfies Record<string, Effect>;

export type TextDirective = keyof typeof directives;
export type Directive = TextDirective | keyof typeof signInDirectives;

export const directiveNames = [
  ...Object.keys(directives),
  ...Object.keys(signInDirectives),
] as readonly Directive[];

/** Names of earlier versions. */
const formerNames: ReadonlyMap<string, Directive> = new Map([['revoked', 'revoke']]);

export function directiveNamed(name: string): Directive | undefined {
  return formerNames.get(name) ?? directiveNames.find((known) => known === name);
}

/** The networks on which a directive does something; undefined when it does on all. */
export function networksOf(directive: Directive): readonly string[] | undefined {
  const all: Readonly<Record<string, Effect>> = { ...directives, ...signInDirectives };
  return all[directive]?.networks;
}

/** The directives in some texts, in any case. */
export function directivesIn(texts: readonly string[]): ReadonlySet<Directive> {
  const names = texts.flatMap((text) => [
    ...text.toLowerCase().matchAll(/#sandbox-(?<name>[a-z]+(?:-[a-z]+)*)/gv),
  ]);
  const asked = names.map(({ groups }) => directiveNamed(groups?.['name'] ?? ''));
  return new Set(asked.filter((directive) => directive !== undefined));
}
