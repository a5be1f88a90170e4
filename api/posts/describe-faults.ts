import type { FaultFacts, ValidationResult } from '../../networks/content-rules.ts';
import type { PostContent } from './post-content.ts';
import type { ContentFault } from './schemas.ts';

/** A channel's texts and files in the request. */
type Place = {
  readonly channelId: string;
  readonly content: Pick<PostContent, 'thread' | 'overrides'>;
  /** Whether the network supports threads. */
  readonly threads: boolean;
};

/** Converts validation messages for the API. A message without facts has the rule `other`. */
export function describeFaults(
  sentences: readonly string[],
  { facts = [] }: Pick<ValidationResult, 'facts'>,
  place: Place,
): ContentFault[] {
  const known = new Map(facts.map((fact) => [fact.message, fact]));
  return sentences.map((message) => {
    const fact = known.get(message);
    const { rule = 'other', limit = null, actual = null } = fact ?? {};
    return { message, path: fact ? pathOf(fact.at, place) : '', rule, limit, actual };
  });
}

/** JSON pointer into the request. */
function pathOf(at: FaultFacts['at'], { channelId, content, threads }: Place): string {
  if (typeof at === 'string') {
    return at;
  }

  const { part, of } = at;
  const isJoined = content.thread !== null && !threads;
  if (of === 'files') {
    return part === 0 || isJoined ? '/media_ids' : `/thread/${part}/media_ids`;
  }

  if (content.overrides[channelId] !== undefined) {
    return `/channel_bodies/${channelId}`;
  }

  return content.thread === null ? '/body' : isJoined ? '/thread' : `/thread/${part}`;
}
