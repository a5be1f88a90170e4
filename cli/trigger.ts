import { randomUUID } from 'node:crypto';
import { command } from './command.ts';
import { CommandError, UsageError } from './failures.ts';
import { text } from './flags.ts';
import { forwardEvent, isAccepted, signingSecret, type Sent } from './forward-event.ts';
import { receiverUrl } from './listen.ts';
import { openReceivers } from './receivers.ts';

export const trigger = command({
  brief: 'Sends the example of an event to a receiver on your machine',
  description:
    'Sends the example of an event to a receiver on your machine, signed as by "punctual listen". The example is that of the API\'s OpenAPI document, with a new id and the current time. For events of real posts, use a channel of the sandbox: a text with #sandbox-refuse makes a post fail.',
  examples: ['trigger post.published', 'trigger post.failed --forward-to localhost:4000/hook'],
  args: { event: 'The event, such as post.published' },
  flags: {
    forwardTo: text(
      'Address of the receiver; that of the last "punctual listen" if omitted',
      'URL',
    ),
  },
  run: async (session, { event: type, forwardTo }) => {
    const { url: api, apiKey } = await session.access();
    const example = await exampleOf(api, type);
    const { workspace } = await (await session.client()).me();
    const receivers = await openReceivers(session.env, workspace.id);
    const url = receiverUrl(forwardTo ?? (await receivers.lastUrl()));

    const event = {
      ...example,
      id: randomUUID(),
      created_at: new Date().toISOString(),
      workspace_id: workspace.id,
    };
    const receiver = { url, secret: signingSecret(apiKey) };
    const forwarded = await forwardEvent(event, receiver, new AbortController().signal);
    const { status, error, duration_ms: ms } = forwarded;
    return {
      data: { event, url, ...forwarded },
      text: `${url} answered ${type} with ${status ?? error} (${ms} ms)`,
      failed: !isAccepted(forwarded),
    };
  },
});

type Document = {
  readonly webhooks: Readonly<
    Record<
      string,
      {
        readonly post: {
          readonly requestBody: {
            readonly content: {
              readonly 'application/json': {
                readonly examples: { readonly event: { readonly value: Sent } };
              };
            };
          };
        };
      }
    >
  >;
};

/** The example in the document of this API. @throws UsageError that names all events. */
async function exampleOf(api: string, type: string): Promise<Sent> {
  const response = await fetch(`${api}/openapi.json`).catch(() => null);
  if (!response?.ok) {
    throw new CommandError(`${api}/openapi.json cannot be read.`);
  }

  const { webhooks } = (await response.json()) as Document;
  const webhook = Object.hasOwn(webhooks, type) ? webhooks[type] : undefined;
  if (!webhook) {
    throw new UsageError(
      `There is no event "${type}". There are ${Object.keys(webhooks).join(', ')}.`,
    );
  }

  return webhook.post.requestBody.content['application/json'].examples.event.value;
}
