import { createHash } from 'node:crypto';
import { cidForLex } from '@atproto/lex-cbor';
import { lexParse } from '@atproto/lex-json';
import type { Connection, PreparedPart, ThreadPart } from '../network.ts';
import { prepareFiles } from './files/prepare-files.ts';
import { facetsOf, handleResolver } from './facets.ts';
import { cardEmbedder, noCard } from './link-card.ts';
import { choiceOf } from './options.ts';
import {
  collection,
  preparedPostOf,
  uriOf,
  type PreparedPost,
  type StrongRef,
} from './prepared-post.ts';

/**
 * Makes the records of a thread, with their keys, times and hashes.
 *
 * A reply refers to earlier posts by hash, and a post to its files. All hashes are computed before anything is sent, so
 * a whole thread can go out in one write.
 *
 * @param parts Parts that were already prepared keep their record keys, so that only one of two writes can succeed.
 * @throws NetworkError when a mention cannot be resolved at the moment, or a file cannot be read.
 */
export async function prepareThread(
  connection: Connection,
  parts: readonly (ThreadPart | PreparedPart)[],
  { nowMs, before }: { readonly nowMs: number; readonly before: readonly PreparedPart[] },
): Promise<PreparedPart[]> {
  const didOf = handleResolver(connection);
  const makeCard = cardEmbedder(connection);
  const prepared: PreparedPart[] = [];
  const refs = before.map((part) => refTo(connection, preparedPostOf(part)));
  let root = refs.at(0);
  let parent = refs.at(-1);
  for (const [index, part] of parts.entries()) {
    // One millisecond per part keeps them in order wherever posts are sorted by time or by key.
    const atMs = Math.floor(nowMs) + index;
    const facets = await facetsOf(part.text, didOf);
    const { embed: files, warnings, ...named } = await prepareFiles(connection, part.media);
    const isBare = files === null && choiceOf(part.options).hasLinkCard;
    const card = isBare ? await makeCard(facets) : noCard;
    const embed = files ?? card.embed;
    const json = JSON.stringify({
      $type: collection,
      text: part.text,
      createdAt: new Date(atMs).toISOString(),
      ...(facets.length > 0 && { facets }),
      ...(embed !== null && { embed }),
      ...chosen(part.options),
      ...(root && parent && { reply: { root, parent } }),
    });
    const cid = (await cidForLex(lexParse(json))).toString();
    const record: PreparedPost['record'] = JSON.parse(json);
    const rkey = 'data' in part ? preparedPostOf(part).rkey : recordKey(atMs, part.key);
    const data = {
      rkey,
      cid,
      record,
      ...named,
      warnings: [...warnings, ...card.warnings],
      ...(card.thumb && { thumb: card.thumb }),
    };
    prepared.push({ ...part, data });
    parent = refTo(connection, data);
    root ??= parent;
  }

  return prepared;
}

/** The record fields for the owner's options. Source: lexicon `app.bsky.feed.post`. */
function chosen(options: ThreadPart['options']): object {
  const { langs, labels } = choiceOf(options);
  return {
    ...(langs.length > 0 && { langs }),
    ...(labels.length > 0 && {
      labels: {
        $type: 'com.atproto.label.defs#selfLabels',
        values: labels.map((val) => ({ val })),
      },
    }),
  };
}

const refTo = (
  { remoteId }: Connection,
  { rkey, cid }: Pick<PreparedPost, 'rkey' | 'cid'>,
): StrongRef => ({ uri: uriOf(remoteId, { rkey }), cid });

const digits = '234567abcdefghijklmnopqrstuvwxyz';

/**
 * The record key of a post: a TID made from a time and the part's key instead of a clock and chance. Every attempt has
 * the same key, so a second post cannot be created.
 *
 * 53 bits of microseconds (the given milliseconds, and microseconds from the hash), then 10 bits from the hash. Keys of
 * later milliseconds sort after earlier ones.
 *
 * Source: https://atproto.com/specs/tid
 *
 * @param atMs Whole milliseconds since 1970.
 */
export function recordKey(atMs: number, partKey: string): string {
  const hash = createHash('sha256').update(partKey).digest();
  const microseconds = BigInt(atMs) * 1000n + BigInt(hash.readUInt16BE(0) % 1000);
  const value = (microseconds << 10n) | BigInt(hash.readUInt16BE(2) % 1024);
  return Array.from({ length: 13 }, (_, index) => {
    const shift = BigInt(5 * (12 - index));
    return digits.charAt(Number((value >> shift) & 31n));
  }).join('');
}
