import { createHash } from 'node:crypto';
import { html, type Html } from '../../runtime/html.ts';
import type { Card, Shown } from '../network.ts';
import { isRefused, type SandboxPost, type SandboxFile, type RefusedPost } from '../post.ts';
import { networkOf } from '../registry.ts';
import { isWebAddress, type Segment } from '../segment.ts';
import { threadsOf } from '../threads.ts';

const threadsPerPage = 50;

/**
 * A page of threads, newest first.
 *
 * @param posts In order of arrival.
 * @param isShown Selects threads: a thread is shown when one of its posts matches.
 * @param pageNumber From 1.
 */
export function timelineView(
  posts: readonly SandboxPost[],
  isShown: (post: SandboxPost) => boolean,
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
    <p>Schedule a post with the curl command that <code>npm start</code> printed.</p>
    <p>It appears here automatically when it is published.</p>
  </div>`;
}

/** Shown for a post that does not exist, or no longer. */
export function missingView(): Html {
  return html`<div class="empty" id="missing" data-v="">
    <h2>There is nothing here</h2>
    <p>The sandbox keeps the newest 1000 posts. <a href="/">Look at the timeline.</a></p>
  </div>`;
}

/**
 * A thread, in order, joined by a line.
 *
 * @param current The post of the page; it is highlighted.
 */
export function threadView(thread: readonly SandboxPost[], current: SandboxPost | undefined): Html {
  const [first] = thread;
  const posts = thread.map((post) => postView(post, post === current));
  return html`<section class="thread" id="thread-${first === undefined ? '' : elementId(first)}">
    ${posts}
  </section>`;
}

/** The page's script compares `data-v` to find changed posts. */
function postView(post: SandboxPost, isCurrent: boolean): Html {
  const { id, label, accounts, profile } = networkOf(post);
  const { displayName, handle } = accounts[post.account ?? 'demo'];
  const body = isRefused(post) ? refusedView(post) : contentView(networkOf(post).show(post));
  const time = timeView(post.createdAt);
  const when = isRefused(post)
    ? html`<span class="when">${time}</span>`
    : html`<a class="when" href="${networkOf(post).pathOf(post)}">${time}</a>`;
  return html`<article
    class="post ${id}${isRefused(post) ? ' refused' : ''}"
    id="${elementId(post)}"
    data-v="${versionOf(post, body)}"
    ${isCurrent ? html`aria-current="true"` : ''}
  >
    <img class="avatar" src="/assets/${id}.svg" alt="" width="44" height="44" />
    <header>
      <a class="name" href="${profile}">${displayName}</a>
      <span class="handle">${handle}</span>
      ${when}
      <span class="badge">${label}</span>
    </header>
    ${body}
  </article>`;
}

const versionOf = ({ createdAt }: SandboxPost, { markup }: Html): string =>
  createHash('sha256').update(createdAt).update(markup).digest('hex').slice(0, 16);

function contentView({ title, warning, segments, files, card, notes }: Shown): Html {
  const text = html`<p class="text">${segments.map(segmentView)}</p>`;
  const hidden =
    warning === undefined
      ? text
      : html`<details class="warning">
          <summary>${warning}</summary>
          ${text}
        </details>`;
  return html`<div>
      ${titleView(title)}${hidden}${filesView(files)}${card ? cardView(card) : ''}
    </div>
    ${notesView(notes)}`;
}

function refusedView({ text, title, files = [], refused }: RefusedPost): Html {
  return html`<div>
      ${titleView(title)}
      <p class="text">${text}</p>
      ${filesView(files)}
    </div>
    <p class="reason">${refused}</p>`;
}

const titleView = (title: string | undefined): Html =>
  title === undefined ? html`` : html`<p class="title">${title}</p>`;

/** Two files per row. */
function filesView(files: readonly SandboxFile[]): Html {
  const views = files.map(({ cid, type, altText }) => {
    const path = pathOfFile(cid);
    const view = type.startsWith('video/')
      ? html`<video src="${path}" controls preload="metadata"></video>`
      : html`<img src="${path}" alt="${altText}" loading="lazy" />`;
    const caption = altText === '' ? '' : html`<figcaption>${altText}</figcaption>`;
    return html`<figure>${view}${caption}</figure>`;
  });
  return views.length === 0 ? html`` : html`<div class="files">${views}</div>`;
}

const pathOfFile = (cid: string): string => `/files/${encodeURIComponent(cid)}`;

function cardView({ href, title, description, cid }: Card): Html {
  const picture = cid === undefined ? '' : html`<img src="${pathOfFile(cid)}" alt="" />`;
  return html`<a class="card" href="${isWebAddress(href) ? href : '#'}" rel="nofollow noreferrer"
    >${picture}<span>${title}</span><span class="about">${description}</span></a
  >`;
}

function notesView(notes: readonly string[]): Html {
  return notes.length === 0
    ? html``
    : html`<ul class="notes">
        ${notes.map((note) => html`<li>${note}</li>`)}
      </ul>`;
}

/** The page's script makes the time relative; without it, it is exact. */
function timeView(createdAt: string): Html {
  const time = new Date(createdAt);
  const exact = Number.isNaN(time.getTime())
    ? createdAt
    : `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return html`<time datetime="${createdAt}" title="${exact}">${exact}</time>`;
}

function segmentView({ text, href }: Segment): Html {
  return href === undefined
    ? html`${text}`
    : html`<a href="${href}" rel="nofollow noreferrer">${text}</a>`;
}

function elementId(post: SandboxPost): string {
  return `${post.network}-${post.id}`;
}
