import { buildRouteMap } from '@stricli/core';
import { eventTypes, everyEvent } from '../../domain/statuses.ts';
import type { Schemas } from '../../sdk/src/index.ts';
import { command } from '../command.ts';
import { given, oneOf, required, someOf, text, toggle } from '../flags.ts';
import { confirm } from '../input.ts';
import { facts, localTime, tableOf } from '../table.ts';
import { apiCommand } from './api-command.ts';
import { pages, pagingFlags } from './pages.ts';

const eventNames = [everyEvent, ...eventTypes] as const;

const args = { webhook: 'Id of the endpoint' };

const webhookText = (one: Schemas['Webhook'] & { readonly secret?: string }): string =>
  facts([
    ['Endpoint', one.id],
    ['URL', one.url],
    ['Events', one.events.join(', ')],
    ['Description', one.description],
    ['Enabled', one.enabled ? 'yes' : `no: ${one.disabled_reason ?? ''}`],
    ['Failing since', localTime(one.failing_since)],
    ['Secret', one.secret && `${one.secret} (shown only now)`],
  ]);

const list = apiCommand({
  brief: 'Lists the endpoints',
  call: (client) => client.webhooks.list(),
  show: ({ webhooks }) => tableOf(webhooks, ['id', 'enabled', 'failing_since', 'url', 'events']),
});

const create = apiCommand({
  brief: 'Registers an endpoint, and shows its signing secret this once',
  examples: ['webhook create --url https://example.com/hook --event post.failed'],
  flags: {
    url: required(text('Address that receives the events', 'URL')),
    event: required(someOf(eventNames, 'An event to send; * for all')),
    description: text('What it is for'),
  },
  call: (client, { url, event, description }) => {
    // The type in the document does not have the `*` that the API takes.
    const events = event as Schemas['NewWebhook']['events'];
    return client.webhooks.create({ url, events, ...given({ description }) });
  },
  show: ({ webhook: one }) => webhookText(one),
});

const show = apiCommand({
  brief: 'Shows an endpoint',
  args,
  call: (client, { webhook: id }) => client.webhooks.get(id),
  show: ({ webhook: one }) => webhookText(one),
});

const test = command({
  brief: 'Sends a test event, and shows what the endpoint answered',
  args,
  run: async ({ client }, { webhook: id }) => {
    const answer = await (await client()).webhooks.test(id);
    const { status, response_status: code, error } = answer.delivery;
    return {
      data: answer,
      text: [status, code === null ? '' : `HTTP ${code}`, error].filter(Boolean).join(', '),
      failed: status !== 'delivered',
    };
  },
});

const remove = apiCommand({
  brief: 'Deletes an endpoint',
  args,
  flags: { yes: toggle('Does not ask') },
  call: async (client, { webhook: id, yes }) => {
    await confirm(`Delete the endpoint ${id} and its deliveries?`, yes);
    return client.webhooks.delete(id);
  },
  show: ({ id }) => `Deleted ${id}.`,
});

const deliveries = command({
  brief: 'Lists the deliveries to an endpoint, newest first',
  args,
  flags: {
    status: oneOf(['pending', 'delivered', 'failed'], 'Only these'),
    ...pagingFlags,
  },
  async *run({ client: open }, { webhook: id, all, ...filters }) {
    const client = await open();
    const query = given(filters);
    const read = (one: typeof query) => client.webhooks.deliveries(id, one);
    for await (const answer of pages(read, query, all)) {
      const fields = [
        'id',
        'event_type',
        'status',
        'created_at',
        'attempt_count',
        'error',
      ] as const;
      yield { data: answer, text: tableOf(answer.deliveries, fields) };
    }
  },
});

const replay = apiCommand({
  brief: 'Delivers failed and waiting events since a time again',
  examples: ['webhook replay ENDPOINT --since 2027-03-01T09:00Z'],
  args,
  flags: { since: required(text('A time with Z or an offset', 'TIME')) },
  call: (client, { webhook: id, since }) => client.webhooks.replayFailed(id, { since }),
  show: ({ replaying }) => `Replaying ${replaying} deliveries.`,
});

export const webhook = buildRouteMap({
  routes: { list, create, show, test, delete: remove, deliveries, replay },
  docs: { brief: 'Manages the endpoints that receive events' },
});
