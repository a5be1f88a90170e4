import { recordAudit } from '../../db/audit.ts';
import type { MediaFile } from '../../db/entities/media.ts';
import { destinationsOf, waitsOnOthers } from '../../db/media-use.ts';
import type { Em } from '../../db/orm.ts';
import { lockMedia } from '../../db/repositories/media.ts';
import { AppError, wrongValue } from '../../domain/errors.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Rules, RulesByPlatform } from '../../networks/content-rules.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { reserveAltText } from '../quotas/media-quota.ts';
import { assertFileTexts, fileName } from './file-texts.ts';
import { loadMedia } from './library.ts';

type MediaEdit = {
  readonly altText?: string | null | undefined;
  readonly name?: string | undefined;
};

export async function editMedia(
  { orm, rules }: Pick<ServiceDeps, 'orm' | 'rules'>,
  owner: QuotaOwner,
  id: string,
  { altText, name }: MediaEdit,
): Promise<MediaFile> {
  if (altText === '') {
    throw wrongValue('/alt_text', 'must not be blank; null removes it');
  }

  assertFileTexts(altText, name);
  return orm.em.fork().transactional(async (em) => {
    // A post that is being scheduled with the file locks its row too: it commits before this, or sees the new alt text.
    const file = await loadMedia(em, owner.workspaceId, id, lockMedia);
    if (await waitsOnOthers(em, file, owner)) {
      // The change would reach what other channels publish.
      const message =
        'A scheduled post on channels that this API key may not use has this file. Use a key without channel_ids.';
      throw new AppError('media_in_use', message);
    }

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

/**
 * Refuses an alt text that the network of a waiting or publishing post would refuse, by one validation per network. The
 * caller has locked the file's row, as scheduling a post with the file does.
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
