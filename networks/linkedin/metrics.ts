import { anyFields, anything, having, listOf, mayHave, text } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { countIn, readingOf, readOneByOne, withMissing } from '../metrics.ts';
import type { Connection, MetricsReader, NetworkError, PostReading } from '../network.ts';
import { ask, get, type LinkedinAccess, type LinkedinAnswer } from './client.ts';
import { linkedinSettings } from './rules.ts';

/**
 * Reads the metrics of posts: one request per metric for a member's post, one for all posts of an organisation. Few
 * apps have this permission.
 */
export function linkedinMetrics(version: string): MetricsReader {
  const open = (connection: Connection): LinkedinAccess => ({ ...connection, version });
  return {
    batchSize: 20,
    readsPerMonth: null,
    read: (connection, remoteIds) =>
      linkedinSettings(connection.settings).isOrganization
        ? readPage(open(connection), connection.remoteId, remoteIds)
        : readMember(open(connection), remoteIds),
    followers: (connection) =>
      linkedinSettings(connection.settings).isOrganization
        ? followersOfPage(open(connection), connection.remoteId)
        : followersOfMember(open(connection)),
  };
}

type Readings = ReadonlyMap<string, PostReading>;

const readMember = (access: LinkedinAccess, urns: readonly string[]): Promise<Readings> =>
  readOneByOne(
    urns,
    async (urn) => (await memberReading(access, urn)) ?? (await absence(access, urn)),
  );

const metricTypes = {
  impressions: 'IMPRESSION',
  likes: 'REACTION',
  comments: 'COMMENT',
  shares: 'RESHARE',
  saves: 'POST_SAVE',
} as const;

const readPoints = answerReader(having({ elements: listOf(mayHave({ count: anything })) }));

/**
 * Reads a member's post, with one request per metric. Metrics that the app may not read are absent.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/members/post-statistics
 */
async function memberReading(access: LinkedinAccess, urn: string): Promise<PostReading | null> {
  const entity = entityOf(urn);
  if (entity === null) {
    return null;
  }

  const counts: Record<string, unknown> = {};
  const refused: NetworkError[] = [];
  const types = Object.values(metricTypes);
  for (const type of types) {
    const answer = await pointOf(access, entity, type);
    if (answer.status === 403) {
      refused.push(answer.refusal());
    } else {
      counts[type] = countOf(answer);
    }
  }

  const [first] = refused;
  if (first && refused.length === types.length) {
    throw first;
  }
  return Object.values(counts).some((count) => count !== undefined)
    ? readingOf(counts, metricTypes)
    : null;
}

/** The URN as a Rest.li union; null for an entity without analytics. */
function entityOf(urn: string): string | null {
  const kind = /^urn:li:(?<kind>share|ugcPost):/v.exec(urn)?.groups?.['kind'];
  return kind === undefined
    ? null
    : `(${kind === 'share' ? 'share' : 'ugc'}:${encodeURIComponent(urn)})`;
}

const memberNeeds = 'the Community Management API and its permission r_member_postAnalytics';

function pointOf(access: LinkedinAccess, entity: string, metricType: string) {
  const query = `q=entity&entity=${entity}&queryType=${metricType}&aggregation=TOTAL`;
  const path = `/rest/memberCreatorPostAnalytics?${query}`;
  return get(access, path, 'prepare', { needs: memberNeeds });
}

/** With a code or a message, LinkedIn says that the post or the metric does not exist. */
const isOwnWord = (answer: LinkedinAnswer): boolean =>
  (answer.said().code ?? answer.said().message) !== undefined;

const countOf = (answer: LinkedinAnswer): unknown =>
  [400, 404].includes(answer.status) && isOwnWord(answer)
    ? undefined
    : answer.as(readPoints).elements[0]?.count;

const readElements = answerReader(
  having({
    elements: listOf(
      mayHave({ share: text, ugcPost: text, totalShareStatistics: anyFields }),
      1000,
    ),
  }),
);

const pageNeeds = 'the Community Management API and its permission rw_organization_admin';

/**
 * Reads an organisation's posts with one request. LinkedIn keeps their metrics for a year, and does not count saves.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/organizations/share-statistics
 */
async function readPage(
  access: LinkedinAccess,
  organization: string,
  urns: readonly string[],
): Promise<Readings> {
  const ofKind = (kind: string, name: string): string[] => {
    const some = urns.filter((urn) => urn.startsWith(`urn:li:${kind}:`));
    return some.length > 0 ? [`${name}=List(${some.map(encodeURIComponent).join(',')})`] : [];
  };
  const posts = [...ofKind('share', 'shares'), ...ofKind('ugcPost', 'ugcPosts')];
  if (posts.length === 0) {
    // Without posts, the request would return the statistics of the whole page.
    return withMissing(urns, [], (urn) => absence(access, urn));
  }

  const entity = `organizationalEntity=${encodeURIComponent(organization)}`;
  const query = ['q=organizationalEntity', entity, ...posts].join('&');
  const path = `/rest/organizationalEntityShareStatistics?${query}`;
  const request = { method: 'GET', path, purpose: 'prepare', needs: pageNeeds } as const;
  const { elements } = await ask(access, request, readElements);
  const readings = elements.flatMap(({ share, ugcPost, totalShareStatistics: totals }) =>
    totals ? [[share ?? ugcPost ?? '', readingOf(totals, pageFields)] as const] : [],
  );
  return withMissing(urns, readings, (urn) => absence(access, urn));
}

const pageFields = {
  impressions: 'impressionCount',
  likes: 'likeCount',
  comments: 'commentCount',
  shares: 'shareCount',
};

/**
 * Whether a post without metrics is gone: null while it exists, and where this app may not see posts.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api
 */
async function absence(access: LinkedinAccess, urn: string): Promise<PostReading | null> {
  const path = `/rest/posts/${encodeURIComponent(urn)}`;
  const response = await get(access, path, 'prepare');
  // This code means that the API path does not exist, which says nothing about the post.
  const isNoResource = response.said().code === 'RESOURCE_NOT_FOUND';
  return response.status === 404 && isOwnWord(response) && !isNoResource ? { kind: 'gone' } : null;
}

/** Source: https://learn.microsoft.com/linkedin/marketing/community-management/organizations/organization-network-size */
const readSize = answerReader(mayHave({ firstDegreeSize: anything }));

async function followersOfPage(access: LinkedinAccess, urn: string): Promise<number | null> {
  const path = `/rest/networkSizes/${encodeURIComponent(urn)}?edgeType=COMPANY_FOLLOWED_BY_MEMBER`;
  const answer = await getPermitted(access, path, readSize);
  return countIn(answer?.firstDegreeSize) ?? null;
}

/** Source: https://learn.microsoft.com/linkedin/marketing/community-management/members/follower-statistics */
const readFollowers = answerReader(
  having({ elements: listOf(mayHave({ memberFollowersCount: anything })) }),
);

async function followersOfMember(access: LinkedinAccess): Promise<number | null> {
  const answer = await getPermitted(access, '/rest/memberFollowersCount?q=me', readFollowers);
  return countIn(answer?.elements[0]?.memberFollowersCount) ?? null;
}

/** Null when the app may not read it. */
async function getPermitted<T>(
  access: LinkedinAccess,
  path: string,
  read: (value: unknown) => T | null,
): Promise<T | null> {
  const response = await get(access, path, 'prepare');
  return response.status === 403 ? null : response.as(read);
}
