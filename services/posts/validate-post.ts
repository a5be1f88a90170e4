import { sameTextWarnings } from '../../db/same-text.ts';
import { plainFault } from '../../domain/warnings.ts';
import type { AttachmentFacts } from '../../networks/content-rules.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { downloadMedia } from '../media/download-media.ts';
import { assertMediaQuota } from '../quotas/media-quota.ts';
import { checkRequest } from './check-request.ts';
import { postContentOf, requestWarnings } from './content.ts';
import { assertFreeExternalId } from './labels.ts';
import { apartFiles, chooseMedia, factsOf, filesOfChannels } from './post-media.ts';
import type { PostInput } from './post-request.ts';
import { downloadsOf, noDownloads, placeFiles } from './read-files.ts';
import { accessFaults, validateContent, type ChannelValidation } from './validate-content.ts';

/**
 * Validates a post as its creation would, and stores nothing. Files from URLs are downloaded, inspected and discarded,
 * because their type is read from their bytes.
 */
export async function validatePost(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'rules' | 'media'>,
  owner: QuotaOwner,
  input: PostInput,
  signal?: AbortSignal,
) {
  const { workspaceId } = owner;
  const em = deps.orm.em.fork();
  const { urls, dueAt, channels, optionFiles } = await checkRequest(deps, em, workspaceId, input);
  const named = [
    ...placeFiles(input, noDownloads),
    ...optionFiles,
    ...filesOfChannels(postContentOf(input)),
  ];
  const found = new Map<string, AttachmentFacts>(await chooseMedia(em, workspaceId, named));
  await assertFreeExternalId(em, owner, input);
  const downloaded = await downloadMedia(deps, owner, urls, signal);
  await downloaded.removeUnclaimed();
  await assertMediaQuota(em, owner, downloaded.files);
  for (const file of downloaded.files) {
    found.set(file.id, file);
  }

  const downloads = downloadsOf(urls, downloaded.files);
  const content = postContentOf(input, downloads);
  const apart = apartFiles([...optionFiles, ...filesOfChannels(content)]);
  const files = factsOf([...placeFiles(input, downloads), ...apart], found);
  const validations = await validateContent(deps.rules, channels, content, files);
  const sameTexts = await sameTextWarnings(em, { workspaceId, postId: null, dueAt }, validations);
  const validated = validations.map((validation) =>
    present(validation, sameTexts.get(validation.channel.id)),
  );
  const notes = [
    ...requestWarnings(deps.rules, channels, input, content),
    ...(channels.length === 0 ? [noChannels] : []),
  ];
  return {
    valid: validated.every(({ errors }) => errors.length === 0),
    warning: notes.map(({ message }) => message).join(' ') || null,
    warnings: [
      ...notes.map((note) => Object.assign({}, note, { channel_id: null })),
      ...validated.flatMap(({ channel_id: id, warnings }) =>
        warnings.map((warning) => Object.assign({}, warning, { channel_id: id })),
      ),
    ],
    scheduled_at: dueAt && dueAt.toISOString(),
    channels: validated,
  };
}

function present(
  { channel, errors, warnings, texts, priceUsd = 0 }: ChannelValidation,
  sameText: string | undefined,
) {
  // The text that is closest to its limit.
  const [nearest] = texts.toSorted((a, b) => b.length / b.limit - a.length / a.limit);
  return {
    channel_id: channel.id,
    platform: channel.platform,
    handle: channel.handle,
    errors,
    warnings: [
      ...warnings,
      ...(sameText === undefined ? [] : [plainFault(sameText, 'same_text')]),
      ...accessFaults(channel),
    ],
    price_usd: errors.length > 0 ? null : priceUsd,
    ...(nearest ?? { length: null, limit: null, unit: null }),
    texts,
  };
}

const noChannels = plainFault(
  'No channel is named, so no rule of a network was applied. Send channel_ids.',
  'field_missing',
  '/channel_ids',
);
