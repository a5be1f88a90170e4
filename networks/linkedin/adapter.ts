import { findingOf } from '../find-own.ts';
import {
  NetworkError,
  type Connection,
  type Finding,
  type Network,
  type PreparedPart,
  type SentPart,
  type PublishStep,
  onlyPart,
} from '../network.ts';
import { keptUpload } from '../uploads/resumable.ts';
import type { LinkedinAccess } from './client.ts';
import { createComment, deleteComment, findComments } from './comments.ts';
import { createPost } from './create-post.ts';
import { keepCard, keptCard } from './link-card.ts';
import { linkedinMetrics } from './metrics.ts';
import { deletePost, preparedOf, type Prepared, findPosts, type Author } from './posts.ts';
import { linkedinSettings, rules } from './rules.ts';
import { uploadFile, type LinkedinUpload } from './uploads.ts';

/**
 * LinkedIn's members and organisations. The first part is a post, the second one its first comment.
 *
 * Few apps may read posts, so mostly the next send shows the outcome of a lost one: LinkedIn refuses a duplicate and
 * names the existing post.
 */
export function createLinkedinNetwork(version: string): Network {
  const open = (connection: Connection): LinkedinAccess => ({ ...connection, version });

  return {
    id: 'linkedin',
    rules,
    threads: 'sequential',
    metrics: linkedinMetrics(version),
    prepare: async (_connection, parts, nowMs) =>
      parts.map((part) => {
        const data: Prepared = { preparedAtMs: nowMs, mediaCount: part.media.length };
        return { ...part, data };
      }),
    upload: (connection, step) => upload(open(connection), connection, placeOf(step)),
    send: async (connection, step, files) => {
      const { part, post } = placeOf(step);
      const access = open(connection);
      const author = authorOf(connection);
      const sent = post
        ? await createComment(access, author, part, post)
        : await createPost(access, author, part, { files, card: keptCard(connection, part) });
      return [sent];
    },
    reconcile: async (connection, step) => {
      const { part, post } = placeOf(step);
      const access = open(connection);
      const author = authorOf(connection);
      const finding = post
        ? findingOf(await findComments(access, author, part, post))
        : await findPosts(access, author, part, keptCard(connection, part));
      return withDoubt(finding, part);
    },
    remove: async (connection, live) => {
      const [post, comment] = live;
      const access = open(connection);
      return post && comment
        ? deleteComment(access, authorOf(connection), post, comment)
        : deletePost(access, post?.remoteId ?? '');
    },
  };
}

async function upload(
  access: LinkedinAccess,
  connection: Connection,
  { part, post }: Place,
): Promise<readonly string[]> {
  if (post && part.media.length > 0) {
    const message = 'A comment on LinkedIn cannot have files.';
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  if (!post) {
    await keepCard(access, connection, part);
  }

  const isDoubted = preparedOf(part.data).isDoubted === true;
  return Array.fromAsync(part.media, (file) => {
    const kept = keptUpload<LinkedinUpload>(connection, part, file).read();
    // A post may already use this upload. Only a second send with the same URN shows that.
    const used = isDoubted && kept?.kind === 'whole' ? kept.urn : null;
    return used ?? uploadFile(access, connection, part, file);
  });
}

const authorOf = ({ remoteId: urn, settings }: Connection): Author => ({
  urn,
  webUrl: linkedinSettings(settings).webUrl,
});

/**
 * An absent part that may exist all the same is marked `isDoubted`: when LinkedIn calls the next send a duplicate, the
 * existing post may be this part.
 *
 * @param finding Null when LinkedIn does not show posts.
 * @throws NetworkError `unconfirmed` when LinkedIn might not recognise the second send as a duplicate.
 */
function withDoubt(finding: Finding | null, { text, data }: PreparedPart): Finding {
  if (finding === null && text.trim() === '') {
    const message =
      'LinkedIn does not show posts to this app, and it may not recognise a duplicate of a post without a text.';
    throw new NetworkError('unconfirmed', message, { accepted: 'unknown' });
  }

  if (finding?.kind === 'found') {
    return finding;
  }

  const noted: Prepared = { ...preparedOf(data), isDoubted: true };
  return { kind: 'absent', data: [noted], isHidden: finding === null };
}

type Place = { readonly part: PreparedPart; readonly post: SentPart | undefined };

const placeOf = (step: PublishStep): Place => ({ part: onlyPart(step), post: step.sent[0] });
