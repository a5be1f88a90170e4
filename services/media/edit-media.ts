import { sql } from 'kysely';
import { recordAudit } from '../../db/audit.ts';
import { isOpenChannel } from '../../db/channel-status.ts';
import type { MediaFile } from '../../db/entities/media.ts';
import type { Em } from '../../db/orm.ts';
import { isOpenPost } from '../../db/post-status.ts';
import { query, queryPlanned } from '../../db/query.ts';
import { lockLibrary } from '../../db/quotas.ts';
import { AppError } from '../../domain/errors.ts';
import type { Json } from '../../domain/json-schema.ts';
import { isText } from '../../domain/texts.ts';
import type { Rules, RulesByPlatform } from '../../networks/content-rules.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { reserveAltText } from '../quotas/media-quota.ts';
import { altTextFault, fileName } from './file-texts.ts';
import { loadMedia } from './library.ts';

type MediaEdit = {
  /** Null removes it. */
  readonly altText?: string | null | undefined;
  readonly name?: string | undefined;
};

/**
 * Changes the name or the alt text of a file.
 *
 * @throws AppError `not_found`, `invalid_request`, `invalid_content`, `quota_exceeded`, `media_in_use`
 */
export async function editMedia(
  { orm, rules }: Pick<ServiceDeps, 'orm' | 'rules'>,
  owner: QuotaOwner,
  id: string,
  { altText, name }: MediaEdit,
): Promise<MediaFile> {
  refuse('alt_text', altText === '' ? 'must not be blank' : altTextFault(altText ?? ''));
  refuse('name', name === undefined || isText(name) ? null : 'must be text');
  return orm.em.fork().transactional(async (em) => {
    // Posts use the same lock order: the file, then the library.
    await lockFile(em, owner.workspaceId, id);
    await lockLibrary(em, owner.workspaceId);
    const file = await loadMedia(em, owner.workspaceId, id);
    await assertReachesWaitingPosts(em, owner, id);
    if (altText !== undefined) {
      await assertFitsWaitingPosts(em, rules, file, altText);
      await reserveAltText(em, owner, file.altText, altText);
      file.altText = altText;
    }

    if (name !== undefined) {
      file.name = fileName(name, file.type);
    }

    await recordAudit(em, owner, 'media.edited', id);

    return file;
  });
}

/** A post that is being scheduled with the file commits before this, or sees the new alt text. */
const lockFile = (em: Em, workspaceId: string, id: string): Promise<unknown> =>
  query(
    em,
    sql`select from media_files where id = ${id} and workspace_id = ${workspaceId} for no key update`,
  );

/**
 * The change would reach what other channels publish.
 *
 * @throws AppError `media_in_use` for a restricted key, while a post on other channels waits with the file.
 */
async function assertReachesWaitingPosts(
  em: Em,
  { workspaceId, channelIds = null }: QuotaOwner,
  id: string,
): Promise<void> {
  if (channelIds === null) {
    return;
  }

  const [post] = await query(
    em,
    sql`select p.id from post_media m
      join posts p on p.id = m.post_id and p.workspace_id = m.workspace_id and ${isOpenPost('p')}
      join post_channels pc on pc.post_id = p.id and pc.workspace_id = p.workspace_id
      where m.media_id = ${id} and m.workspace_id = ${workspaceId} and pc.channel_id <> all(${channelIds}::uuid[]) limit 1`,
  );
  if (post) {
    throw new AppError(
      'media_in_use',
      'A scheduled post on channels that this API key may not use has this file. Use a key without channel_ids.',
    );
  }
}

/** @throws AppError `invalid_request` */
function refuse(field: string, fault: string | null): void {
  if (fault !== null) {
    throw new AppError('invalid_request', `${field} ${fault}.`, {
      details: [{ path: `/${field}`, message: fault }],
    });
  }
}

const mostNamed = 5;

/** Accounts of one network with the same limits, and the waiting posts that use the file's own alt text there. */
type Destination = {
  readonly platform: string;
  readonly settings: Json;
  readonly posts: number;
  /** A sample of the posts. */
  readonly ids: readonly string[];
};

/**
 * Refuses an alt text that the network of a waiting or publishing post would refuse. Validates once per network, or
 * per server with limits of its own, for any number of posts.
 *
 * The caller has locked the file's row: scheduling a post with the file takes the same lock.
 *
 * @throws AppError `invalid_content` that names a few of the posts.
 */
async function assertFitsWaitingPosts(
  em: Em,
  rules: RulesByPlatform,
  file: MediaFile,
  altText: string | null,
): Promise<void> {
  const destinations = await destinationsOf(em, file);
  const faults = destinations.flatMap(({ platform, settings, posts, ids }) => {
    const network = rules[platform];
    const errors = network ? newErrors(network, settings, file, altText) : [];
    return errors.map((error) => `${error} ${waiting(posts, ids)}.`);
  });
  if (faults.length > 0) {
    const advice = 'Shorten it, or give those posts one of their own first (alt_texts).';
    throw new AppError('invalid_content', `${faults.join(' ')} ${advice}`, {
      details: faults.map((message) => ({ path: '/alt_text', message })),
    });
  }
}

function destinationsOf(em: Em, { id, workspaceId }: MediaFile): Promise<Destination[]> {
  return queryPlanned(
    em,
    sql<Destination>`
      select c.platform, c.settings, count(distinct pc.post_id)::int as posts,
        (array_agg(distinct pc.post_id::text))[1:${sql.lit(mostNamed)}] as ids
      from post_media pm
      join post_channels pc on pc.post_id = pm.post_id and pc.workspace_id = pm.workspace_id and ${isOpenChannel}
      join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pm.media_id = ${id} and pm.workspace_id = ${workspaceId}
        and case when pc.media is null then pm.part >= 0 and pm.alt_text is null
          else pc.media @> ${JSON.stringify([{ media_id: id, alt_text: null }])}::jsonb end
      group by c.platform, c.settings order by c.platform`,
  );
}

/** The errors that the new alt text adds. */
function newErrors(
  network: Rules,
  settings: Json,
  file: MediaFile,
  altText: string | null,
): readonly string[] {
  const { name, type, sizeBytes, width, height, durationMs, details } = file;
  const facts = { name, type, sizeBytes, width, height, durationMs, details };
  const errorsWith = (text: string | null): readonly string[] => {
    const media = [[{ ...facts, altText: text }]];
    return network.validate({ texts: ['a'], media, video: null, options: {} }, settings).errors;
  };
  const known = new Set(errorsWith(file.altText));
  return errorsWith(altText).filter((error) => !known.has(error));
}

function waiting(posts: number, ids: readonly string[]): string {
  const more = posts > ids.length ? ` and ${posts - ids.length} more` : '';
  return `${posts === 1 ? '1 post waits' : `${posts} posts wait`} with it: ${ids.join(', ')}${more}`;
}
