import type { Dispatcher } from 'undici';
import type { Download } from './download.ts';
import { StreamedAnswer, type AnswerLimits } from './streamed-answer.ts';

/**
 * Sends one request and hands over its answer while the body is still coming. Holds no more of it than a stream's
 * buffer: when the reader is slow, so is the connection, and that is no silence of the other side.
 *
 * @throws EgressError; so does the body, which may also fail with a BodyTooLargeError.
 */
export function streamExchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  limits: AnswerLimits,
): Promise<Omit<Download, 'url'>> {
  const answer = new StreamedAnswer(limits);
  dispatcher.dispatch(options, answer);
  return answer.head;
}
