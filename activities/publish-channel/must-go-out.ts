import { mostTries } from '../../domain/next-try.ts';
import { NetworkError, type SentPart } from '../../networks/network.ts';
import { isDayOver } from './day.ts';
import type { Try } from './find-step.ts';
import { StoppedError } from './setback.ts';

/**
 * A look comes before this, a send after.
 *
 * @throws StoppedError when the post was cancelled, and nothing of it is out.
 * @throws NetworkError when the channel's day is over, or its tries are used up.
 */
export function mustGoOut({ deps, target }: Try, sent: readonly SentPart[]): void {
  if (target.isFinishing && sent.length === 0) {
    throw new StoppedError('The post was cancelled, and nothing of it is on the network.');
  }

  if (isDayOver(deps, target)) {
    throw new NetworkError('too_late', 'It was not on the network.', { taken: 'no' });
  }

  if (target.tries >= mostTries) {
    const message = `The network was asked to publish ${mostTries} times, and does not show the post.`;
    throw new NetworkError('network_unavailable', message, { taken: 'no' });
  }
}
