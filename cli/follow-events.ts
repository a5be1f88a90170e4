import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionError, PunctualError, type Answer, type Punctual } from '../sdk/src/index.ts';
import { isAccepted, isAway, type Forwarded } from './forward-event.ts';

type Event = Answer<'listEvents'>['events'][number];

/** How far events are forwarded. */
export type Place = {
  /** Each event up to this `sequence` is forwarded, or among the refused. */
  readonly after: number;
  /** The `sequence` of each event that the receiver did not answer with 2xx. */
  readonly refused: readonly number[];
};

export type Listener = {
  readonly client: Punctual;
  /** Only these types, separated by commas. */
  readonly types: string | undefined;
  readonly forward: (event: Event) => Promise<Forwarded>;
  readonly save: (place: Place) => Promise<void>;
  /** Tells a person what happens. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
};

/** So many refused events stop the reading, so that the list stays short. */
const mostRefused = 100;
/** Between two tries of refused events, in milliseconds. */
const retryEachMs = 10_000;
/** Between two tries of a receiver or service that is away, in milliseconds. */
const awayMs = 1000;

type Answered = { readonly event: Event; readonly forwarded: Forwarded };

/**
 * Forwards events in their order, and saves the place after each. It waits for a receiver that is not running. An event
 * that the receiver refuses is forwarded again later; other events do not wait for it.
 *
 * @param since Leaves out the events before it.
 * @throws the signal's reason, or PunctualError when the service refuses the call.
 */
export async function* followEvents(
  start: Place,
  since: Date | null,
  listener: Listener,
): AsyncGenerator<Answered, never> {
  const { client, types, signal, say, save } = listener;
  let place = start;
  let from = since?.toISOString();
  let triedMs = -Infinity;
  for (;;) {
    if (place.refused.length > 0 && performance.now() - triedMs >= retryEachMs) {
      place = yield* retryRefused(place, listener);
      triedMs = performance.now();
    }

    if (place.refused.length >= mostRefused) {
      say(
        `The receiver refuses ${place.refused.length} events: no more are read until it takes one.`,
      );
      await pause(retryEachMs, undefined, { signal });
      continue;
    }

    const query = { after: place.after, wait: place.refused.length > 0 ? 5 : 25 };
    const filter = { ...(types === undefined ? {} : { types }), ...(from ? { from } : {}) };
    const page = await whenThere(
      () => client.events.list({ ...query, ...filter }, { signal }),
      listener,
    );
    if (page.missed) {
      say(
        `The events ${page.missed.from} to ${page.missed.to} were deleted before they were read.`,
      );
    }

    for (const event of page.events) {
      const forwarded = await whenRunning(event, listener);
      const { sequence } = event;
      const others = place.refused.filter((one) => one !== sequence);
      const refused = isAccepted(forwarded) ? others : [...others, sequence];
      place = { after: sequence, refused };
      await save(place);
      yield { event, forwarded };
    }

    if (page.next_after !== place.after) {
      place = { ...place, after: page.next_after };
      await save(place);
    }

    from = page.has_more ? from : undefined;
  }
}

/** @returns the place without the events that the receiver takes now, or that are deleted. */
async function* retryRefused(
  { after, refused: before }: Place,
  listener: Listener,
): AsyncGenerator<Answered, Place> {
  const { client, signal, save } = listener;
  let refused = before;
  for (const sequence of before) {
    const query = { after: sequence - 1, limit: 1 };
    const { events } = await whenThere(() => client.events.list(query, { signal }), listener);
    const event = events.find((one) => one.sequence === sequence);
    const forwarded = event && (await whenRunning(event, listener));
    if (!forwarded || isAccepted(forwarded)) {
      refused = refused.filter((one) => one !== sequence);
      await save({ after, refused });
    }

    if (event && forwarded) {
      yield { event, forwarded };
    }
  }

  return { after, refused };
}

/** Forwards an event once the receiver is running. */
async function whenRunning(event: Event, { forward, say, signal }: Listener): Promise<Forwarded> {
  for (let tries = 0; ; tries += 1) {
    const forwarded = await forward(event);
    if (!isAway(forwarded)) {
      return forwarded;
    }

    if (tries === 0) {
      say(`The receiver is not running (${forwarded.error}). Events wait for it.`);
    }

    await pause(awayMs, undefined, { signal });
  }
}

/** Repeats a call while the service is away. */
async function whenThere<T>(
  call: () => PromiseLike<T>,
  { say, signal }: Pick<Listener, 'say' | 'signal'>,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      const refusal = error instanceof PunctualError ? error : null;
      const isPassing = refusal
        ? refusal.status === 429 || refusal.status >= 500
        : error instanceof ConnectionError;
      if (!isPassing) {
        throw error;
      }

      if (tries === 0) {
        say(`${(error as Error).message} Trying again until it answers.`);
      }

      await pause((refusal?.retryAfterS ?? 0) * 1000 + awayMs, undefined, { signal });
    }
  }
}

/** The place after the newest event. */
export async function newestPlace(client: Punctual, signal: AbortSignal): Promise<Place> {
  for (let after = 0; ;) {
    // No event is so new: the answer has the place only, whatever the clocks say.
    const query = { after, from: '9999-12-31T00:00:00Z' };
    const page = await client.events.list(query, { signal });
    after = page.next_after;
    if (!page.has_more) {
      return { after, refused: [] };
    }
  }
}
