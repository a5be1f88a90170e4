import { AppBskyFeedPost } from '@atproto/api';
import { cidForLex } from '@atproto/lex-cbor';
import { jsonToLex, type JsonValue } from '@atproto/lex-json';
import { blueskyAccount } from '../accounts.ts';
import type { BlueskyPost } from '../post.ts';
import { Refusal } from '../refusal.ts';
import { isTid } from './tid.ts';

export const postCollection = 'app.bsky.feed.post';
const uriPrefix = `at://${blueskyAccount.did}/${postCollection}/`;

/** The permanent address of a record in the demo account's repository. */
export function uriOf(rkey: string): string {
  return uriPrefix + rkey;
}

/**
 * Makes a post of a record, after the checks of Bluesky's own lexicon: 300 graphemes, the form of dates, facets
 * and replies.
 *
 * @throws Refusal 400 `InvalidRequest` that says what is wrong.
 */
export async function toPost(
  collection: string,
  rkey: string,
  value: Readonly<Record<string, unknown>>,
): Promise<BlueskyPost> {
  if (collection !== postCollection) {
    throw new Refusal(400, `The sandbox keeps ${postCollection} only, not ${collection}.`);
  }
  if (!isTid(rkey)) {
    throw new Refusal(400, `Invalid TID string (got "${rkey}")`);
  }
  const checked = AppBskyFeedPost.validateRecord({ $type: postCollection, ...value });
  if (!checked.success) {
    throw new Refusal(400, `Invalid ${postCollection} record: ${checked.error.message}`);
  }
  const record = checked.value;
  if (JSON.stringify(record).includes('"$type":"blob"')) {
    throw new Refusal(400, 'The sandbox keeps no pictures or videos.');
  }
  const parent = record.reply?.parent.uri ?? '';
  return {
    network: 'bluesky',
    id: rkey,
    cid: await cidOf(record),
    text: record.text,
    createdAt: record.createdAt,
    replyTo: parent.startsWith(uriPrefix) ? parent.slice(uriPrefix.length) : null,
    record,
  };
}

async function cidOf(record: AppBskyFeedPost.Record): Promise<string> {
  try {
    return String(await cidForLex(jsonToLex(record as JsonValue, { strict: true })));
  } catch (error) {
    throw new Refusal(400, error instanceof Error ? error.message : 'The record has no CID.');
  }
}
