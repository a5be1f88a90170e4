import { cidForLex } from '@atproto/lex-cbor';
import { lexParse } from '@atproto/lex-json';
import type { AppBskyRichtextFacet, Facet } from '@atproto/api';
import { lateAfterMs } from '../../domain/pacing.ts';
import type { Connection, Network, PreparedPart, SentPart, ThreadPart } from '../network.ts';
import { resolveHandles } from './client.ts';
import { cardEmbedder, type Feature, isLink, noCard, prepareFiles, uploadFiles } from './embeds.ts';
import { metrics } from './metrics.ts';
import { blueskySettings, rules, chosenIn } from './rules.ts';
import {
  deletePost,
  isWritten,
  writeThread,
  preparedPostOf,
  uriOf,
  type PreparedPost,
  collection,
  type StrongRef,
  recordKey,
} from './thread.ts';

/**
 * Bluesky, on any PDS.
 *
 * Everything in a thread is fixed before the first attempt: record keys, times, hashes. So the whole thread is one
 * write that can succeed only once, and a reconcile only has to look for the keys.
 */
export const blueskyNetwork: Network = {
  id: 'bluesky',
  rules,
  threads: 'atomic',
  metrics,

  prepare: prepareThread,
  renew: prepareThread,
  upload: (connection, { parts }) => uploadFiles(connection, parts),

  async send(connection, step) {
    const posts = step.parts.map(preparedPostOf);
    await writeThread(connection, posts);
    return sentParts(connection, posts);
  },

  async reconcile(connection, step) {
    const posts = step.parts.map(preparedPostOf);
    return (await isWritten(connection, connection.remoteId, posts))
      ? { kind: 'found', candidates: [sentParts(connection, posts)] }
      : { kind: 'absent' };
  },

  remove: (connection, live) =>
    deletePost(connection, live.at(-1)?.remoteId.split('/').at(-1) ?? ''),
};

/** Links use the DID, because a handle can change, which would break them. */
function sentParts(connection: Connection, posts: readonly PreparedPost[]): SentPart[] {
  const { webUrl } = blueskySettings(connection.settings);
  const did = connection.remoteId;
  return posts.map((post) => ({
    remoteId: uriOf(did, post),
    url: `${webUrl}/profile/${did}/post/${post.rkey}`,
    ...(post.warnings && post.warnings.length > 0 && { warning: post.warnings.join(' ') }),
  }));
}

/**
 * A reply refers to earlier posts by hash, and a post to its files. All hashes are computed before anything is sent, so
 * a whole thread can go out in one write.
 *
 * @param parts Parts that were already prepared keep their record keys, so that only one of two writes can succeed.
 */
async function prepareThread(
  connection: Connection,
  parts: readonly (ThreadPart | PreparedPart)[],
  nowMs: number,
  before: readonly PreparedPart[] = [],
): Promise<PreparedPart[]> {
  const found = await Array.fromAsync(parts, detectFacets);
  const mentions = found.flat().flatMap(({ features }) => features.filter(isMention));
  const handles = mentions.map(({ did }) => did);
  const isLate = parts.every(({ dueAtMs = 0 }) => nowMs - dueAtMs > lateAfterMs);
  const { dids, slow } = await resolveHandles(connection, handles, isLate);
  const makeCard = cardEmbedder(connection);
  const prepared: PreparedPart[] = [];
  const refs = before.map((part) => refTo(connection, preparedPostOf(part)));
  let root = refs.at(0);
  let parent = refs.at(-1);
  for (const [index, part] of parts.entries()) {
    // One millisecond per part keeps them in order wherever posts are sorted by time or by key.
    const atMs = Math.floor(nowMs) + index;
    const facets = resolvedFacets(found[index] ?? [], dids);
    const { embed: files, warnings, ...named } = await prepareFiles(connection, part.media);
    const isBare = files === null && chosenIn(part.options).link_card !== false;
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
    const keyMs = Math.floor(part.dueAtMs ?? nowMs) + before.length + index;
    const rkey = 'data' in part ? preparedPostOf(part).rkey : recordKey(keyMs, part.key);
    const data = {
      rkey,
      cid,
      record,
      ...named,
      warnings: [...warnings, ...card.warnings, ...(index === 0 ? slow : [])],
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
  const { langs = [], labels = [] } = chosenIn(options);
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

/** Each mention still has its handle in the field for the DID. */
async function detectFacets({ text }: ThreadPart): Promise<readonly Facet[]> {
  // The package has 400 modules, which take half a second to load; an API process never needs them.
  const { RichText } = await import('@atproto/api');
  const richText = new RichText({ text });
  richText.detectFacetsWithoutResolution();
  return richText.facets ?? [];
}

/**
 * A mention whose handle does not resolve, and a link that is not a valid URL, stay plain text: the server would refuse
 * the whole post because of them.
 */
function resolvedFacets(
  found: readonly Facet[],
  dids: ReadonlyMap<string, string | null>,
): Facet[] {
  const resolved = (one: Feature) =>
    isMention(one) ? { ...one, did: dids.get(one.did) ?? '' } : one;
  const isValid = (one: Feature) =>
    isMention(one) ? one.did !== '' : !isLink(one) || URL.canParse(one.uri);
  return found
    .map(({ index, features }) => ({ index, features: features.map(resolved).filter(isValid) }))
    .filter(({ features }) => features.length > 0);
}

const isMention = (feature: Feature): feature is AppBskyRichtextFacet.Mention =>
  feature.$type === 'app.bsky.richtext.facet#mention';
