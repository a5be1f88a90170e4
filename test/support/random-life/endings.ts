import { isFinal } from '../../../domain/post-status.ts';
import type { PostRow } from './check-life.ts';

const isOver = ({ status }: PostRow): boolean => status === 'published' || status === 'failed';

/**
 * Counts how often a post ended: when it comes to an end, and once more for each channel of which another truth comes to
 * light while it has ended (`db/end-anew.ts`). It has to be shown the post after everything that happens.
 */
export class Endings {
  count = 0;
  #was: PostRow | null = null;

  see(post: PostRow): void {
    if (isOver(post)) {
      this.count += this.#was && isOver(this.#was) ? changes(this.#was, post) : 1;
    }

    this.#was = post;
  }
}

/** On how many channels of a post that stayed at its end something else became final. */
const changes = (was: PostRow, { channels }: PostRow): number =>
  channels.filter(({ platform, status }) => {
    const before = was.channels.find((channel) => channel.platform === platform);
    return isFinal(status) && before?.status !== status;
  }).length;
