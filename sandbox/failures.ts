/** What a text may contain to be treated badly, and what then happens. The page shows this list. */
export const failureTags = [
  { tag: '#sandbox-refuse', effect: 'The network refuses the post and says why.' },
  {
    tag: '#sandbox-busy',
    effect: 'The first try is rate limited and told to come back a few seconds later.',
  },
  {
    tag: '#sandbox-lost',
    effect: 'The network takes the post, but its answer never arrives.',
  },
] as const;

type FailureTag = (typeof failureTags)[number]['tag'];

/** How many keys are remembered: far more than are ever being retried at one time. */
const maxKeys = 1000;

export type Failures = {
  /** True whenever one of the texts asks to be refused. */
  refuses(texts: readonly string[]): boolean;
  /** True the first time that a key comes with a text that asks for it. */
  isBusy(texts: readonly string[], key: string): boolean;
  /** True the first time that a key comes with a text that asks for it. */
  loses(texts: readonly string[], key: string): boolean;
};

/** Failures on demand, so that a newcomer can watch what the product does about them. */
export function createFailures(): Failures {
  const seen = new Set<string>();
  const once = (tag: FailureTag, texts: readonly string[], key: string): boolean => {
    const id = `${tag} ${key}`;
    if (!asksFor(tag, texts) || seen.has(id)) {
      return false;
    }
    seen.add(id);
    for (const oldest of seen) {
      if (seen.size <= maxKeys) {
        break;
      }
      seen.delete(oldest);
    }
    return true;
  };
  return {
    refuses: (texts) => asksFor('#sandbox-refuse', texts),
    isBusy: (texts, key) => once('#sandbox-busy', texts, key),
    loses: (texts, key) => once('#sandbox-lost', texts, key),
  };
}

function asksFor(tag: FailureTag, texts: readonly string[]): boolean {
  return texts.some((text) => text.toLowerCase().includes(tag));
}
