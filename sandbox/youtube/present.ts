import type { youtube_v3 } from '@googleapis/youtube';
import { accounts } from './account.ts';
import type { Figures } from '../figures.ts';
import type { SandboxPost } from '../post.ts';
import type { Comment, Video } from './post.ts';

/** Removes null and undefined from the types: the sandbox omits such fields. */
type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };

/** A video with the requested parts. */
export function presentVideo(
  video: Video,
  parts: readonly string[],
  figures: Figures = {},
): Present<youtube_v3.Schema$Video> {
  const { id } = video;
  return {
    kind: 'youtube#video',
    etag: `"${id}"`,
    id,
    ...(parts.includes('snippet') && { snippet: snippetOf(video) }),
    ...(parts.includes('status') && { status: statusOf(video) }),
    ...(parts.includes('statistics') && { statistics: statisticsOf(figures) }),
    ...(parts.includes('processingDetails') && { processingDetails: processingOf(video) }),
  };
}

/** Counts are decimal strings, and hidden counts are absent. */
function statisticsOf({
  impressions,
  likes,
  comments,
}: Figures): Present<youtube_v3.Schema$VideoStatistics> {
  return {
    ...(impressions !== undefined && { viewCount: String(impressions) }),
    ...(likes !== undefined && { likeCount: String(likes) }),
    favoriteCount: '0',
    ...(comments !== undefined && { commentCount: String(comments) }),
  };
}

const channelOf = ({ account = 'demo' }: SandboxPost) => accounts[account];

const snippetOf = (video: Video): Present<youtube_v3.Schema$VideoSnippet> => ({
  publishedAt: video.createdAt,
  channelId: channelOf(video).id,
  channelTitle: channelOf(video).title,
  title: video.title,
  description: video.text,
  categoryId: video.categoryId,
  liveBroadcastContent: 'none',
  localized: { title: video.title, description: video.text },
  ...(video.tags.length > 0 && { tags: [...video.tags] }),
});

function statusOf(video: Video): Present<youtube_v3.Schema$VideoStatus> {
  const { uploadStatus, reason, privacy, madeForKids, isSynthetic } = video;
  return {
    uploadStatus,
    ...(uploadStatus === 'failed' && { failureReason: reason ?? 'conversion' }),
    ...(uploadStatus === 'rejected' && { rejectionReason: reason ?? 'termsOfUse' }),
    privacyStatus: privacy,
    license: 'youtube',
    embeddable: true,
    publicStatsViewable: true,
    madeForKids: madeForKids ?? false,
    ...(madeForKids !== null && { selfDeclaredMadeForKids: madeForKids }),
    ...(isSynthetic && { containsSyntheticMedia: true }),
  };
}

const processingStatuses = {
  uploaded: 'processing',
  processed: 'succeeded',
  failed: 'failed',
  rejected: 'terminated',
} as const;

const processingOf = ({
  uploadStatus,
  pollsLeft,
}: Video): Present<youtube_v3.Schema$VideoProcessingDetails> => ({
  processingStatus: processingStatuses[uploadStatus],
  ...(uploadStatus === 'uploaded' && {
    processingProgress: {
      partsTotal: '10',
      partsProcessed: String(Math.max(0, 10 - pollsLeft)),
      timeLeftMs: '1000',
    },
  }),
  ...(uploadStatus === 'failed' && { processingFailureReason: 'transcodeFailed' }),
});

export function presentUpload(
  video: Video,
  position: number,
): Present<youtube_v3.Schema$PlaylistItem> {
  const { id, title, text, createdAt } = video;
  const channel = channelOf(video);
  return {
    kind: 'youtube#playlistItem',
    etag: `"${id}"`,
    id: Buffer.from(`${channel.uploads}.${id}`).toString('base64url'),
    snippet: {
      publishedAt: createdAt,
      channelId: channel.id,
      title,
      description: text,
      channelTitle: channel.title,
      playlistId: channel.uploads,
      position,
      resourceId: { kind: 'youtube#video', videoId: id },
      videoOwnerChannelTitle: channel.title,
      videoOwnerChannelId: channel.id,
    },
  };
}

/** @param video The video of the comment, if it is still stored. */
export function presentThread(
  comment: Comment,
  video: SandboxPost | undefined,
): Present<youtube_v3.Schema$CommentThread> {
  const { id, text, createdAt, replyTo } = comment;
  const { id: channelId } = channelOf(video ?? comment);
  const author = channelOf(comment);
  return {
    kind: 'youtube#commentThread',
    etag: `"${id}"`,
    id,
    snippet: {
      channelId,
      videoId: replyTo,
      canReply: true,
      totalReplyCount: 0,
      isPublic: true,
      topLevelComment: {
        kind: 'youtube#comment',
        etag: `"${id}"`,
        id,
        snippet: {
          channelId,
          videoId: replyTo,
          textDisplay: text,
          textOriginal: text,
          authorDisplayName: author.handle,
          authorChannelId: { value: author.id },
          canRate: true,
          viewerRating: 'none',
          likeCount: 0,
          publishedAt: createdAt,
          updatedAt: createdAt,
        },
      },
    },
  };
}
