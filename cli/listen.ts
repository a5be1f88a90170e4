import { setTimeout as pause } from 'node:timers/promises';
import { ConnectionError, PunctualError, type Punctual } from '../sdk/src/index.ts';
import { command, type Answer, type Session, type Values } from './command.ts';
import { CommandError, UsageError } from './failures.ts';
import { given, pastTime, text, toggle } from './flags.ts';
import { forwardEvent, isAway, signingSecret, type Forwarded } from './forward-event.ts';
import { openReceivers } from './receivers.ts';

const flags = {
  forwardTo: text('Address of the receiver, such as localhost:4000/hook', 'URL'),
  events: text('Only these events, separated by commas', 'TYPES'),
  since: pastTime('Begins with this time, such as 1h, instead of where it stopped'),
  printSecret: toggle('Prints the signing secret, and ends'),
};

export const listen = command({
  brief: 'Forwards events to a receiver on your machine, as webhooks',
  description:
    'Forwards the events of the workspace to a receiver on your machine, as webhooks: with the same headers, signed with a secret that stays the same for an API key. It remembers its place, so that nothing is lost while it or the receiver is not running.\n\nAn event that is not answered with 2xx is not repeated; --since forwards it again.',
  examples: [
    'listen --forward-to localhost:4000/hook',
    'listen --forward-to localhost:4000/hook --events post.published,post.failed --since 1h',
    'listen --print-secret',
  ],
  flags,
  run: forward,
});

async function* forward(
  session: Session,
  { forwardTo, events: types, since, printSecret }: Values<typeof flags>,
): AsyncGenerator<Answer> {
  const secret = signingSecret((await session.access()).apiKey);
  if (printSecret) {
    yield { data: { secret }, text: secret };
    return;
  }

  const client = await session.client();
  const { workspace } = await client.me();
  const receivers = await openReceivers(session.env, workspace.id);
  const url = receiverUrl(forwardTo);
  const signal = endOfProcess();
  const kept = since ? null : await receivers.readPlace(url);
  // No event is of the year 9999: the first start begins with the next one.
  const after =
    kept ?? (await placeBefore(client, since?.toISOString() ?? '9999-12-31T00:00:00Z', signal));
  await receivers.savePlace(url, after);

  session.say(`Forwards the events of ${workspace.name ?? workspace.id} to ${url}.`);
  session.say(`They are signed with ${secret}, always the same. Ctrl-C ends it.`);
  const waiting = { say: session.say, signal };
  try {
    const save = (place: number) => receivers.savePlace(url, place);
    for await (const event of eventsAfter(client, after, types, waiting, save)) {
      const send = () => forwardEvent(event, { url, secret }, signal);
      const { status, error, duration_ms } = await whenRunning(send, waiting);
      const { id, type, created_at, sequence } = event;
      await save(sequence);
      yield {
        data: { event: { id, type, created_at, sequence }, status, error, duration_ms },
        text: `${created_at}  ${type}  ${id}  ${status ?? error} (${duration_ms} ms)`,
      };
    }
  } catch (error) {
    if (signal.aborted) {
      return;
    }

    const isBeyond =
      error instanceof PunctualError && error.details.some(({ path }) => path === '?after');
    throw isBeyond
      ? new CommandError(`${error.message} Give --since 1h once to begin an hour ago.`)
      : error;
  }
}

/** The `sequence` before the first event of this time or later. */
async function placeBefore(client: Punctual, from: string, signal: AbortSignal): Promise<number> {
  for (let after = 0; ;) {
    const page = await client.events.list({ after, from }, { signal });
    const [first] = page.events;
    if (first || !page.has_more) {
      return first ? first.sequence - 1 : page.next_after;
    }

    after = page.next_after;
  }
}

type Waiting = Pick<Session, 'say'> & { readonly signal: AbortSignal };

/** The events after a place in their order, without an end. Says which were deleted before, and saves each page's end. */
async function* eventsAfter(
  client: Punctual,
  start: number,
  types: string | undefined,
  waiting: Waiting,
  save: (place: number) => Promise<void>,
) {
  for (let after = start; ;) {
    const query = given({ after, wait: 25, types });
    const { signal } = waiting;
    const page = await whenThere(() => client.events.list(query, { signal }), waiting);
    if (page.missed) {
      const { from, to } = page.missed;
      waiting.say(`The events ${from} to ${to} were deleted before they were read.`);
    }

    yield* page.events;
    if (page.next_after > after) {
      await save(page.next_after); // Also beyond events of other types.
    }

    after = page.next_after;
  }
}

/** Time between two attempts to reach a receiver or service that is away, in milliseconds. */
const awayMs = 1000;

/** Forwards an event once the receiver is running. */
async function whenRunning(
  send: () => Promise<Forwarded>,
  { say, signal }: Waiting,
): Promise<Forwarded> {
  for (let tries = 0; ; tries += 1) {
    const forwarded = await send();
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
async function whenThere<T>(call: () => PromiseLike<T>, { say, signal }: Waiting): Promise<T> {
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

/** Aborts when the command shall end. */
function endOfProcess(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  process.once('SIGTERM', () => controller.abort());
  return controller.signal;
}

/** @param typed Also without `http://`, or only a port and a path. @throws UsageError */
export function receiverUrl(typed: string | undefined): string {
  if (typed === undefined) {
    throw new UsageError('--forward-to is missing: give an address such as localhost:4000/hook.');
  }

  const address = typed.replace(/^:?(?=\d{1,5}(?:\/|$))/v, 'localhost:');
  const url = /^https?:\/\//v.test(address) ? address : `http://${address}`;
  if (!URL.canParse(url) || new URL(url).username !== '') {
    throw new UsageError(
      `--forward-to must be an address without a user name, such as localhost:4000/hook, not "${typed}".`,
    );
  }

  return new URL(url).href;
}
