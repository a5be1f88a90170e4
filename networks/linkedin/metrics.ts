import { answerReader } from '../answer.ts';
import { countIn, type PostReading } from '../metrics.ts';
import type { Connection, MetricsReader } from '../network.ts';
import { readOneByOne } from '../read-one-by-one.ts';
import { accessWith, answerAs, call, type LinkedinAccess } from './client.ts';
import { memberReading } from './member-analytics.ts';
import { pageReadings } from './page-statistics.ts';
import { refusedBy } from './refusal.ts';
import { linkedinSettings } from './settings.ts';

/**
 * Reads the metrics of posts: one request per metric for a member's post, one for all posts of an organisation. Few
 * apps have this permission.
 *
 * @param version Of the API: `YYYYMM`.
 */
export function linkedinMetrics(version: string): MetricsReader {
  const open = (connection: Connection): LinkedinAccess =>
    accessWith(connection, connection.credentials, version, 'prepare');
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

async function readPage(
  access: LinkedinAccess,
  organization: string,
  urns: readonly string[],
): Promise<Readings> {
  const readings = await pageReadings(access, organization, urns);
  const missing = urns.filter((urn) => !readings.has(urn));
  // A failed read is repeated with the next batch, and does not affect the other posts.
  const gone = await readOneByOne(missing, (urn) => absence(access, urn).catch(() => null));
  return new Map([...readings, ...gone]);
}

/**
 * Whether a post without metrics is gone: null while it exists, and where this app may not see posts.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api
 */
async function absence(access: LinkedinAccess, urn: string): Promise<PostReading | null> {
  const path = `/rest/posts/${encodeURIComponent(urn)}`;
  const response = await call(access, { method: 'GET', path, purpose: 'prepare' });
  const { code, message } = refusedBy(response);
  const isOwnWord = code !== undefined || message !== undefined;
  // This code means that the API path does not exist, which says nothing about the post.
  const isNoResource = code === 'RESOURCE_NOT_FOUND';
  return response.status === 404 && isOwnWord && !isNoResource ? { kind: 'gone' } : null;
}

/** Source: https://learn.microsoft.com/linkedin/marketing/community-management/organizations/organization-network-size */
const readSize = answerReader<{ readonly firstDegreeSize?: unknown }>({ type: 'object' });

async function followersOfPage(access: LinkedinAccess, urn: string): Promise<number | null> {
  const path = `/rest/networkSizes/${encodeURIComponent(urn)}?edgeType=COMPANY_FOLLOWED_BY_MEMBER`;
  const answer = await getPermitted(access, path, readSize);
  return countIn(answer?.firstDegreeSize) ?? null;
}

/** Source: https://learn.microsoft.com/linkedin/marketing/community-management/members/follower-statistics */
const readFollowers = answerReader<{
  readonly elements: readonly { readonly memberFollowersCount?: unknown }[];
}>({
  type: 'object',
  required: ['elements'],
  properties: { elements: { type: 'array', items: { type: 'object' } } },
});

async function followersOfMember(access: LinkedinAccess): Promise<number | null> {
  const answer = await getPermitted(access, '/rest/memberFollowersCount?q=me', readFollowers);
  return countIn(answer?.elements[0]?.memberFollowersCount) ?? null;
}

/** Null when the app may not read it. @throws NetworkError after any other failure. */
async function getPermitted<T>(
  access: LinkedinAccess,
  path: string,
  read: (value: unknown) => T | null,
): Promise<T | null> {
  const response = await call(access, { method: 'GET', path, purpose: 'prepare' });
  return response.status === 403 ? null : answerAs(access, response, 'prepare', read);
}
