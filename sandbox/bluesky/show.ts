import {
  AppBskyEmbedExternal,
  AppBskyEmbedImages,
  AppBskyEmbedVideo,
  ComAtprotoLabelDefs,
  type AppBskyFeedPost,
} from '@atproto/api';
import type { Card, Shown } from '../network.ts';
import type { SandboxFile } from '../post.ts';
import type { Blob } from './blobs.ts';
import type { BlueskyPost } from './post.ts';
import { segmentsOf } from './text.ts';

/** Converts a record for the page. The lexicon has checked it; fields outside the lexicon are not shown. */
export function show(post: BlueskyPost): Shown {
  const { record } = post;
  const labels = labelsOf(record);
  return {
    warning: labels.length === 0 ? undefined : `Labelled ${labels.join(', ')}`,
    segments: segmentsOf(post, '/bluesky'),
    files: filesOf(record),
    card: cardOf(record),
    notes: [...labels, ...(record.langs ?? [])],
  };
}

type Embedding = Pick<AppBskyFeedPost.Record, 'embed'>;

/** The pictures or the video of a record, with their alt texts. */
export function filesOf({ embed }: Embedding): SandboxFile[] {
  if (AppBskyEmbedImages.isMain(embed)) {
    return embed.images.map(({ image, alt }) => fileOf(image, alt));
  }
  return AppBskyEmbedVideo.isMain(embed) ? [fileOf(embed.video, embed.alt)] : [];
}

function cardOf({ embed }: Embedding): Card | undefined {
  if (!AppBskyEmbedExternal.isMain(embed)) {
    return undefined;
  }
  const { uri, title, description, thumb } = embed.external;
  const cid = thumb === undefined ? undefined : fileOf(thumb).cid;
  return { href: uri, title, description, cid };
}

function labelsOf({ labels }: AppBskyFeedPost.Record): string[] {
  return ComAtprotoLabelDefs.isSelfLabels(labels) ? labels.values.map(({ val }) => val) : [];
}

/** Records are stored as received, where a blob is plain JSON. */
function fileOf(value: unknown, altText = ''): SandboxFile {
  const { ref, mimeType } = value as Blob;
  return { cid: ref.$link, type: mimeType, altText };
}
