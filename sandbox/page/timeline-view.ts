import { html, type Html } from '../html.ts';
import type { Post } from '../post.ts';
import { threadsOf } from '../threads.ts';
import { threadView } from './post-view.ts';

const threadsPerPage = 50;

/**
 * Threads, the newest first, a page of them.
 *
 * @param posts In the order in which they came.
 * @param isShown Picks the threads: one is shown whole when one of its posts fits.
 * @param pageNumber From 1.
 */
export function timelineView(
  posts: readonly Post[],
  isShown: (post: Post) => boolean,
  pageNumber: number,
): Html {
  const threads = threadsOf(posts).filter((thread) => thread.some(isShown));
  const start = (pageNumber - 1) * threadsPerPage;
  const shown = threads.slice(start, start + threadsPerPage);
  if (shown.length === 0) {
    return emptyView();
  }
  const newer = pageNumber > 1 ? [linkTo(pageNumber - 1, 'Newer')] : [];
  const older = threads.length > start + threadsPerPage ? [linkTo(pageNumber + 1, 'Older')] : [];
  return html`${shown.map((thread) => threadView(thread, undefined))}
    <p class="pager" id="pager" data-v="${newer.length}${older.length}">${newer}${older}</p>`;
}

function linkTo(pageNumber: number, label: string): Html {
  return html`<a href="?page=${pageNumber}">${label}</a> `;
}

function emptyView(): Html {
  return html`<div class="empty" id="empty" data-v="">
    <h2>No posts yet</h2>
    <p>Schedule a post with the curl that <code>npm start</code> printed.</p>
    <p>It appears here by itself the moment it is published.</p>
  </div>`;
}

/** Stands where a post is not, or is no longer. */
export function missingView(): Html {
  return html`<div class="empty" id="missing" data-v="">
    <h2>There is nothing here</h2>
    <p>The sandbox keeps the newest 1000 posts. <a href="/">Look at the timeline.</a></p>
  </div>`;
}
