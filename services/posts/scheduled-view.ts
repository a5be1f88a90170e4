import type { PlacedFile } from '../../db/repositories/media.ts';
import { linkOf, type ChannelFile } from '../../domain/media.ts';
import { viewPost, type PostView } from '../../domain/post-view.ts';
import { type ContentFault } from '../../domain/warnings.ts';
import type { ServiceDeps } from '../deps.ts';
import type { PostContent } from './content.ts';
import type { Labels } from './labels.ts';
import {
  channelWarning,
  channelWarnings,
  warningFor,
  warningsFor,
  type ChannelValidation,
} from './validate-content.ts';

type FileFacts = {
  readonly name: string;
  readonly type: string;
  readonly linkToken: string;
  readonly altText: string | null;
};

type NewPost = {
  readonly id: string;
  readonly dueAt: Date;
  readonly timezone: string | null;
  readonly content: PostContent;
  readonly labels: Labels;
  readonly notes: readonly ContentFault[];
};

type Files = {
  readonly placed: readonly PlacedFile[];
  readonly found: ReadonlyMap<string, FileFacts>;
};

/** A scheduled post as a read right after its creation shows it, without the read: its event is stored with it. */
export const scheduledView = (
  { publicUrl, rules }: Pick<ServiceDeps, 'publicUrl' | 'rules'>,
  { id, dueAt, timezone, content, labels, notes }: NewPost,
  validations: readonly ChannelValidation[],
  { now, ...files }: Files & { readonly now: Date },
): PostView =>
  viewPost(
    {
      id,
      status: 'scheduled',
      body: content.body,
      thread: content.thread,
      video: content.video,
      tags: labels.tags,
      metadata: labels.metadata,
      external_id: labels.externalId,
      timezone,
      scheduled_at: dueAt,
      published_at: null,
      created_at: now,
      updated_at: now,
      warning: warningFor(validations, notes),
      warnings: warningsFor(validations, notes),
      media: viewedFiles(publicUrl, files),
    },
    validations.map((validation) => {
      const { channel } = validation;
      return {
        ...untouched,
        channel_id: channel.id,
        platform: channel.platform,
        handle: channel.handle,
        threads: rules[channel.platform]?.threads ?? true,
        body: content.overrides[channel.id] ?? null,
        options: { ...channel.options, ...content.options[channel.id] },
        media: ownFiles(content.channelFiles[channel.id], publicUrl, files.found),
        warning: channelWarning(validation),
        warnings: channelWarnings(validation),
      };
    }),
  );

/** A channel before the first attempt. */
const untouched = {
  status: 'scheduled',
  url: null,
  error: null,
  error_code: null,
  retry_at: null,
  sent_text: null,
  sent_warning: null,
  live: null,
  metrics: null,
  metrics_updated_at: null,
  gone_at: null,
  unpublish: null,
} as const;

const ownFiles = (
  files: readonly ChannelFile[] | undefined,
  publicUrl: string,
  found: Files['found'],
) =>
  files?.flatMap(({ media_id: id, alt_text: altText }) => {
    const file = found.get(id);
    return file ? [viewedFile(publicUrl, { id, part: 0, altText }, file)] : [];
  }) ?? null;

const viewedFiles = (publicUrl: string, { placed, found }: Files) =>
  placed.flatMap(({ mediaId: id, part, altText }) => {
    const file = part < 0 ? undefined : found.get(id);
    return file ? [viewedFile(publicUrl, { id, part, altText }, file)] : [];
  });

const viewedFile = (
  publicUrl: string,
  {
    id,
    part,
    altText,
  }: { readonly id: string; readonly part: number; readonly altText: string | null },
  file: FileFacts,
) => ({
  id,
  part,
  type: file.type,
  url: linkOf(publicUrl, file),
  alt_text: altText ?? file.altText,
});
