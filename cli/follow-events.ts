import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionError, PunctualError, type Answer, type Punctual } from '../sdk/src/index.ts';
import { given } from './flags.ts';
import { isAccepted, isAway, type Forwarded } from './forward-event.ts';

type Event = Answer<'listEvents'>['events'][number];

/** How far events are forwarded. */
export type Place = {
  /** Each event up to this `sequence` is forwarded, or among the refused. */
  readonly after: number;
  /** The `sequence` of each event that the receiver did not answer with 2xx. */
  readonly refused: readonly number[];
  /** Leaves out the events before this time, until all that were there at the start are read. */
  readonly from?: string | undefined;
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
/** Between two tries of a refused event, in milliseconds. */
const retryEachMs = 10_000;
/** Between two tries of a receiver or service that is away, in milliseconds. */
const awayMs = 1000;

type Answered = { readonly event: Event; readonly forwarded: Forwarded };

/**
 * Forwards events in their order, and saves the place after each. It waits for a receiver that is not running. An event
 * that the receiver refuses is forwarded again later: one such at most between two reads of new events.
 *
 * @throws the signal's reason, or PunctualError when the service refuses the call.
 */
export async function* followEvents(
  start: Place,
  listener: Listener,
): AsyncGenerator<Answered, never> {
  const { types, signal, say, save } = listener;
  let place = start;
  const triedMs = new Map<number, number>();
  const isDue = (one: number): boolean =>
    performance.now() - (triedMs.get(one) ?? -Infinity) >= retryEachMs;
  for (;;) {
    const due = place.refused.find(isDue);
    if (due !== undefined) {
      place = yield* retryRefused(due, place, listener);
      triedMs.set(due, performance.now());
    }

    const isNextDue = place.refused.some(isDue);
    if (place.refused.length >= mostRefused) {
      if (isNextDue) {
        continue;
      }

      say(
        `The receiver refuses ${place.refused.length} events: no more are read until it takes one.`,
      );
      await pause(retryEachMs, undefined, { signal });
      continue;
    }

    const waitS = place.refused.length > 0 ? 5 : 25;
    const { after, from } = place;
    const query = given({ after, wait: isNextDue ? 1 : waitS, types, from });
    const page = await readPage(query, listener);
    for (const event of page.events) {
      const forwarded = await whenRunning(event, listener);
      const { sequence } = event;
      const others = place.refused.filter((one) => one !== sequence);
      const refused = isAccepted(forwarded) ? others : [...others, sequence];
      place = { ...place, after: sequence, refused };
      if (!isAccepted(forwarded)) {
        triedMs.set(sequence, performance.now());
      }

      await save(place);
      yield { event, forwarded };
    }

    if (page.next_after !== place.after) {
      place = { ...place, after: page.next_after };
      await save(place);
    }

    place = { ...place, from: page.has_more ? from : undefined };
  }
}

/** Says which events were deleted before. */
async function readPage(
  query: Parameters<Punctual['events']['list']>[0],
  listener: Listener,
): Promise<Answer<'listEvents'>> {
  const { client, signal, say } = listener;
  const page = await whenThere(() => client.events.list(query, { signal }), listener);
  if (page.missed) {
    say(`The events ${page.missed.from} to ${page.missed.to} were deleted before they were read.`);
  }

  return page;
}

/** @returns the place, without the event if the receiver takes it now, or if it is deleted; else it is the last. */
async function* retryRefused(
  sequence: number,
  place: Place,
  listener: Listener,
): AsyncGenerator<Answered, Place> {
  const { client, signal, save } = listener;
  const query = { after: sequence - 1, limit: 1 };
  const { events } = await whenThere(() => client.events.list(query, { signal }), listener);
  const event = events.find((one) => one.sequence === sequence);
  const forwarded = event && (await whenRunning(event, listener));
  const isDone = !forwarded || isAccepted(forwarded);
  const others = place.refused.filter((one) => one !== sequence);
  const left = { ...place, refused: isDone ? others : [...others, sequence] };
  await save(left);
  if (event && forwarded) {
    yield { event, forwarded };
  }

  return left;
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
