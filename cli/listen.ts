import { command, type Answer, type Session } from './command.ts';
import { PunctualError } from '../sdk/src/index.ts';
import { CommandError, UsageError } from './failures.ts';
import { pastTime, text, toggle } from './flags.ts';
import { followEvents, newestPlace, type Listener } from './follow-events.ts';
import { forwardEvent } from './forward-event.ts';
import { openListenFiles } from './listen-files.ts';

export const listen = command({
  brief: 'Forwards events to a receiver on your machine, as webhooks',
  description:
    'Forwards the events of the workspace to a receiver on your machine, as webhooks: with the same headers, signed with a secret that stays the same. It remembers its place, so that nothing is lost while it or the receiver is not running.\n\nAn event that is not answered with 2xx is forwarded again after ten seconds or more and at the next start; new events come between two such.',
  examples: [
    'listen --forward-to localhost:3000/hook',
    'listen --forward-to localhost:3000/hook --events post.published,post.failed --since 1h',
    'listen --print-secret',
  ],
  flags: {
    forwardTo: text('Address of the receiver, such as localhost:3000/hook', 'URL'),
    events: text('Only these events, separated by commas', 'TYPES'),
    since: pastTime('Begins with this time, such as 1h, instead of where it stopped'),
    printSecret: toggle('Prints the signing secret, and ends'),
  },
  run: forward,
});

async function* forward(
  session: Session,
  given: {
    readonly forwardTo: string | undefined;
    readonly events: string | undefined;
    readonly since: Date | undefined;
    readonly printSecret: boolean | undefined;
  },
): AsyncGenerator<Answer> {
  const client = await session.client();
  const { workspace } = await client.me();
  const files = await openListenFiles(session.env, workspace.id);
  const { secret } = files;
  if (given.printSecret) {
    yield { data: { secret }, text: secret };
    return;
  }

  const url = receiverUrl(given.forwardTo);
  const { since } = given;
  const signal = endOfProcess();
  const kept = await files.readPlace(url);
  const start = since
    ? { after: 0, refused: kept?.refused ?? [], from: since.toISOString() }
    : (kept ?? (await newestPlace(client, signal)));
  await files.savePlace(url, start);

  session.say(`Forwards the events of ${workspace.name ?? workspace.id} to ${url}.`);
  session.say(`They are signed with ${secret}, always the same. Ctrl-C ends it.`);
  const listener: Listener = {
    client,
    types: given.events,
    forward: (event) => forwardEvent(event, { url, secret }, signal),
    save: (place) => files.savePlace(url, place),
    say: session.say,
    signal,
  };
  try {
    for await (const { event, forwarded } of followEvents(start, listener)) {
      const { id, type, created_at, sequence } = event;
      const { status, error, duration_ms: ms } = forwarded;
      yield {
        data: { event: { id, type, created_at, sequence }, ...forwarded },
        text: `${created_at}  ${type}  ${id}  ${status ?? error} (${ms} ms)`,
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

/** Aborts when the command shall end. */
function endOfProcess(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  process.once('SIGTERM', () => controller.abort());
  return controller.signal;
}

/** @param given Also without `http://`, or only a port and a path. @throws UsageError */
export function receiverUrl(given: string | undefined): string {
  if (given === undefined) {
    throw new UsageError('--forward-to is missing: give an address such as localhost:3000/hook.');
  }

  const address = given.replace(/^:?(?=\d{1,5}(?:\/|$))/v, 'localhost:');
  const url = /^https?:\/\//v.test(address) ? address : `http://${address}`;
  if (!URL.canParse(url) || new URL(url).username !== '') {
    throw new UsageError(
      `--forward-to must be an address without a user name, such as localhost:3000/hook, not "${given}".`,
    );
  }

  return new URL(url).href;
}
