import { answerReader, jsonOf } from '../answer.ts';
import { readingOf, type PostReading } from '../metrics.ts';
import type { NetworkError } from '../network.ts';
import { call, type LinkedinAccess } from './client.ts';
import { refusal, refusedBy, unreadable } from './refusal.ts';

const metricTypes = {
  impressions: 'IMPRESSION',
  likes: 'REACTION',
  comments: 'COMMENT',
  shares: 'RESHARE',
  saves: 'POST_SAVE',
} as const;

type Name = keyof typeof metricTypes;

/** The first API version with saves. */
const savesSince = '202604';

const readPoints = answerReader<{ readonly elements: readonly { readonly count?: unknown }[] }>({
  type: 'object',
  required: ['elements'],
  properties: { elements: { type: 'array', items: { type: 'object' } } },
});

/**
 * Reads a member's post, with one request per metric. Metrics that the app may not read are absent.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/members/post-statistics
 *
 * @returns null when LinkedIn reports nothing about the post.
 * @throws NetworkError `permission_missing` when the app may read no metric at all.
 */
export async function memberReading(
  access: LinkedinAccess,
  urn: string,
): Promise<PostReading | null> {
  const entity = entityOf(urn);
  if (entity === null) {
    return null;
  }

  const names = (Object.keys(metricTypes) as Name[]).filter(
    (name) => name !== 'saves' || access.version >= savesSince,
  );
  const counts: Partial<Record<Name, unknown>> = {};
  const refused: NetworkError[] = [];
  for (const name of names) {
    const point = await pointOf(access, entity, metricTypes[name]);
    if ('refusal' in point) {
      refused.push(point.refusal);
    } else {
      counts[name] = point.count;
    }
  }

  const [first] = refused;
  if (first && refused.length === names.length) {
    throw first;
  }
  return Object.values(counts).some((count) => count !== undefined) ? readingOf(counts) : null;
}

/** The URN as a Rest.li union; null for an entity without analytics. */
function entityOf(urn: string): string | null {
  const kind = /^urn:li:(?<kind>share|ugcPost):/v.exec(urn)?.groups?.['kind'];
  return kind === undefined
    ? null
    : `(${kind === 'share' ? 'share' : 'ugc'}:${encodeURIComponent(urn)})`;
}

const needs = 'the Community Management API and its permission r_member_postAnalytics';

async function pointOf(
  access: LinkedinAccess,
  entity: string,
  metricType: string,
): Promise<{ readonly count: unknown } | { readonly refusal: NetworkError }> {
  const query = `q=entity&entity=${entity}&queryType=${metricType}&aggregation=TOTAL`;
  const path = `/rest/memberCreatorPostAnalytics?${query}`;
  const response = await call(access, { method: 'GET', path, purpose: 'prepare' });
  if (response.status === 403) {
    return { refusal: refusal(response, { ...access, purpose: 'prepare', needs }) };
  }
  // With a code or a message, LinkedIn says that the post or the metric does not exist.
  const { code, message } = refusedBy(response);
  if ([400, 404].includes(response.status) && (code !== undefined || message !== undefined)) {
    return { count: undefined };
  }
  if (response.status !== 200) {
    throw refusal(response, { ...access, purpose: 'prepare' });
  }

  const points = readPoints(jsonOf(response));
  if (!points) {
    throw unreadable('prepare');
  }
  return { count: points.elements[0]?.count };
}
