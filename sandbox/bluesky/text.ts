import { RichText, type RichTextSegment } from '@atproto/api';
import type { BlueskyPost } from './post.ts';
import { isWebAddress, type Segment } from '../segment.ts';

/** Splits a post's text at its facets; Bluesky links nothing else. @param base Path of the sandbox's Bluesky. */
export function segmentsOf({ text, record }: BlueskyPost, base: string): Segment[] {
  const { facets } = record;
  const rich = new RichText(facets === undefined ? { text } : { text, facets });
  return [...rich.segments()].map((segment) => {
    const href = addressOf(segment, base);
    return href === undefined ? { text: segment.text } : { text: segment.text, href };
  });
}

function addressOf({ link, mention, tag }: RichTextSegment, base: string): string | undefined {
  if (link !== undefined) {
    return isWebAddress(link.uri) ? link.uri : undefined;
  }
  if (mention !== undefined) {
    return `${base}/profile/${mention.did}`;
  }
  return tag && `${base}/hashtag/${encodeURIComponent(tag.tag.toLowerCase())}`;
}
