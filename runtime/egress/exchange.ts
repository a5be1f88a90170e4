import type { Dispatcher } from 'undici';
import { createAnswer } from './answer.ts';
import { egressError, toEgressError } from './egress-failure.ts';
import type { EgressRequest, EgressResponse } from './egress.ts';

type Limits = {
  /** Of the answer's body, in bytes. */
  readonly maxBytes: number;
  /** One that has not aborted yet. */
  readonly signal: AbortSignal;
  readonly mayStart: EgressRequest['mayStart'];
  /** Called once undici is through with the request and its connection, which is after the end for one that was given up. */
  readonly onFreed: () => void;
};

/**
 * Sends one request and takes its answer.
 *
 * Speaks to undici one level below `request()`, because only the handler is told the moment before the first byte
 * is written, and `maybeSent` hangs on it: what fails before was certainly not sent. undici itself sends nothing
 * twice here: it puts a request on another connection only as long as it has written none of it.
 *
 * A status line decides. Whatever ends the body after it (the limit, the signal, a break) only cuts it.
 *
 * @throws EgressError
 */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { maxBytes, signal, mayStart = () => true, onFreed }: Limits,
): Promise<EgressResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<EgressResponse>();
  const answer = createAnswer(maxBytes);
  let controller: Dispatcher.DispatchController | undefined;
  let isSettled = false;

  const settle = (finish: () => void) => {
    if (!isSettled) {
      isSettled = true;
      signal.removeEventListener('abort', giveUp);
      finish();
    }
  };
  const breakOff = (error: unknown) =>
    settle(() => (answer.hasHead ? resolve(answer.finish(true)) : reject(error)));
  const giveUp = () => {
    const maybeSent = controller !== undefined;
    breakOff(egressError('timeout', { maybeSent, cause: signal.reason }));
    controller?.abort(givenUp());
  };

  signal.addEventListener('abort', giveUp);
  dispatcher.dispatch(options, {
    onRequestStart(current) {
      if (!isSettled && !mayStart()) {
        settle(() => reject(tooLate()));
      }

      controller = current;
      if (isSettled) {
        current.abort(givenUp());
      }
    },
    // A status below 200 only announces the real one.
    onResponseStart(_controller, status, headers) {
      if (status >= 200) {
        answer.begin(status, headers);
      }
    },
    onResponseData(current, chunk) {
      if (!isSettled && !answer.add(chunk)) {
        settle(() => resolve(answer.finish(true)));
        current.abort(givenUp());
      }
    },
    onResponseEnd() {
      settle(() => resolve(answer.finish(false)));
      onFreed();
    },
    onResponseError(_controller, error) {
      breakOff(nameFailure(error, controller !== undefined));
      onFreed();
    },
  });
  return promise;
}

const tooLate = () => egressError('timeout', { maybeSent: false });
const givenUp = () => new Error('The request was given up.');

/** undici refuses a request that is itself wrong (a line end in a header): our bug, and no failure of the way out. */
function nameFailure(error: Error, maybeSent: boolean): Error {
  const isOurs = 'code' in error && error.code === 'UND_ERR_INVALID_ARG';
  return isOurs
    ? new TypeError(error.message, { cause: error })
    : toEgressError(error, { maybeSent });
}
