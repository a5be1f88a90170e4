import { answerReader, jsonOf } from '../answer.ts';
import { readingOf, type PostReading } from '../metrics.ts';
import { call, type LinkedinAccess } from './client.ts';
import { refusal, unreadable } from './refusal.ts';

type Statistics = {
  readonly impressionCount?: unknown;
  readonly likeCount?: unknown;
  readonly commentCount?: unknown;
  readonly shareCount?: unknown;
};

type Element = {
  readonly share?: string;
  readonly ugcPost?: string;
  readonly totalShareStatistics?: Statistics;
};

const readElements = answerReader<{ readonly elements: readonly Element[] }>({
  type: 'object',
  required: ['elements'],
  properties: {
    elements: {
      type: 'array',
      maxItems: 1000,
      items: {
        type: 'object',
        properties: {
          share: { type: 'string' },
          ugcPost: { type: 'string' },
          totalShareStatistics: { type: 'object' },
        },
      },
    },
  },
});

const needs = 'the Community Management API and its permission rw_organization_admin';

/**
 * Reads an organisation's posts with one request. LinkedIn keeps their metrics for a year, and does not count saves.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/organizations/share-statistics
 */
export async function pageReadings(
  access: LinkedinAccess,
  organization: string,
  urns: readonly string[],
): Promise<ReadonlyMap<string, PostReading>> {
  const ofKind = (kind: string, name: string): string[] => {
    const some = urns.filter((urn) => urn.startsWith(`urn:li:${kind}:`));
    return some.length > 0 ? [`${name}=List(${some.map(encodeURIComponent).join(',')})`] : [];
  };
  const posts = [...ofKind('share', 'shares'), ...ofKind('ugcPost', 'ugcPosts')];
  if (posts.length === 0) {
    return new Map(); // Without posts, the request would return the statistics of the whole page.
  }

  const entity = `organizationalEntity=${encodeURIComponent(organization)}`;
  const query = ['q=organizationalEntity', entity, ...posts].join('&');
  const path = `/rest/organizationalEntityShareStatistics?${query}`;
  const response = await call(access, { method: 'GET', path, purpose: 'prepare' });
  if (response.status !== 200) {
    throw refusal(response, { ...access, purpose: 'prepare', needs });
  }

  const answer = readElements(jsonOf(response));
  if (!answer) {
    throw unreadable('prepare');
  }
  return new Map(
    answer.elements.flatMap(({ share, ugcPost, totalShareStatistics: totals }) => {
      const urn = share ?? ugcPost ?? '';
      return totals && urns.includes(urn) ? [[urn, presentStatistics(totals)] as const] : [];
    }),
  );
}

const presentStatistics = (totals: Statistics): PostReading =>
  readingOf({
    impressions: totals.impressionCount,
    likes: totals.likeCount,
    comments: totals.commentCount,
    shares: totals.shareCount,
  });
