import { AppBskyFeedPost, jsonToLex as withBlobs } from '@atproto/api';
import { cidForLex } from '@atproto/lex-cbor';
import { jsonToLex, type JsonValue } from '@atproto/lex-json';
import type { AccountName } from '../account-name.ts';
import { accountOf } from './account.ts';
import type { BlueskyPost } from './post.ts';
import { Refusal } from '../refusal.ts';

const alphabet = '234567abcdefghijklmnopqrstuvwxyz';
const pattern = /^[2-7a-j][2-7a-z]{12}$/v;

/** Whether a record key has the form that posts need. Source: https://atproto.com/specs/tid */
function isTid(text: string): boolean {
  return pattern.test(text);
}

/** Returns a function that makes ascending keys from the time. */
export function createTids(now: () => number): () => string {
  let lastMicros = 0n;
  return () => {
    const micros = BigInt(now()) * 1000n;
    lastMicros = micros > lastMicros ? micros : lastMicros + 1n;
    let rest = lastMicros << 10n; // The lower ten bits are the clock id; the sandbox has only one clock.
    let tid = '';
    for (let place = 0; place < 13; place += 1) {
      tid = (alphabet[Number(rest & 31n)] ?? '') + tid;
      rest >>= 5n;
    }
    return tid;
  };
}

export const postCollection = 'app.bsky.feed.post';
const repositoryOf = (name: AccountName): string =>
  `at://${accountOf(name).did}/${postCollection}/`;

/** The permanent address of a record in its author's repository. */
export function uriOf({ id, account = 'demo' }: Pick<BlueskyPost, 'id' | 'account'>): string {
  return repositoryOf(account) + id;
}

/**
 * Converts a record to a post. Validates it with Bluesky's own lexicon: 300 graphemes, the form of dates, facets and
 * replies.
 *
 * @throws Refusal 400 `InvalidRequest` that explains the problem.
 */
export async function toPost(
  account: AccountName,
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
  const wire = { $type: postCollection, ...value } as JsonValue;
  assertFits(wire);
  const record = wire as AppBskyFeedPost.Record;
  const parent = record.reply?.parent.uri ?? '';
  const ownPrefix = repositoryOf(account);
  return {
    network: 'bluesky',
    id: rkey,
    account,
    cid: await cidOf(record),
    text: record.text,
    createdAt: record.createdAt,
    replyTo: parent.startsWith(ownPrefix) ? parent.slice(ownPrefix.length) : null,
    record,
  };
}

function assertFits(wire: JsonValue): void {
  let problem: string;
  try {
    const checked = AppBskyFeedPost.validateRecord(withBlobs(wire));
    if (checked.success) {
      return;
    }
    problem = checked.error.message;
  } catch (error) {
    problem = error instanceof Error ? error.message : 'It cannot be read.'; // An invalid CID.
  }
  throw new Refusal(400, `Invalid ${postCollection} record: ${problem}`);
}

async function cidOf(record: AppBskyFeedPost.Record): Promise<string> {
  try {
    return String(await cidForLex(jsonToLex(record as JsonValue, { strict: true })));
  } catch (error) {
    throw new Refusal(400, error instanceof Error ? error.message : 'The record has no CID.');
  }
}
