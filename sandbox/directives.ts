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
  revoked: {
    once: false,
    effect: 'From now on the network refuses the access token, until it is given back.',
  },
  slow: {
    once: true,
    effect:
      'Work on a file takes a while. For networks that get files before the text: in the alt text.',
  },
  broken: {
    once: false,
    effect: 'Work on a file fails. For networks that get files before the text: in the alt text.',
  },
  locked: {
    once: false,
    effect: 'YouTube makes the video private, as it does for apps that it has not audited.',
  },
} as const satisfies Record<string, { readonly once: boolean; readonly effect: string }>;

export type Directive = keyof typeof directives;

export const directiveNames = Object.keys(directives) as readonly Directive[];

export function isDirective(name: unknown): name is Directive {
  return typeof name === 'string' && Object.hasOwn(directives, name);
}

/** The directives in some texts, in any case. */
export function directivesIn(texts: readonly string[]): ReadonlySet<Directive> {
  const names = texts.flatMap((text) => [
    ...text.toLowerCase().matchAll(/#sandbox-(?<name>[a-z]+(?:-[a-z]+)*)/gv),
  ]);
  return new Set(names.map(({ groups }) => groups?.['name']).filter(isDirective));
}
