import { buildRouteMap } from '@stricli/core';
import { eventTypes, everyEvent } from '../../domain/statuses.ts';
import type { Schemas } from '../../sdk/src/index.ts';
import { command } from '../command.ts';
import { given, oneOf, required, someOf, text, toggle } from '../flags.ts';
import { confirm } from '../input.ts';
import { facts, localTime, ownZone } from '../table.ts';
import { pages, pagingFlags } from './pages.ts';

const events = [everyEvent, ...eventTypes] as const;

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

const list = command({
  brief: 'Lists the endpoints',
  run: async ({ client }) => {
    const answer = await (await client()).webhooks.list();
    const rows = answer.webhooks.map((one) => [
      one.id,
      one.enabled ? 'yes' : 'no',
      one.last_delivery?.status ?? '',
      one.url,
      one.events.join(' '),
    ]);
    const head = ['ID', 'ENABLED', 'LAST DELIVERY', 'URL', 'EVENTS'];
    return { data: answer, text: { head, rows } };
  },
});

const create = command({
  brief: 'Registers an endpoint, and shows its signing secret this once',
  examples: ['webhook create --url https://example.com/hook --event post.failed'],
  flags: {
    url: required(text('Address that receives the events', 'URL')),
    event: required(someOf(events, 'An event to send; * for all')),
    description: text('What it is for'),
  },
  run: async ({ client }, { url, event, description }) => {
    const body = { url, events: event, ...given({ description }) };
    // The type of the document does not have the `*` that the API takes.
    const answer = await (await client()).webhooks.create(body as Schemas['NewWebhook']);
    return { data: answer, text: webhookText(answer.webhook) };
  },
});

const show = command({
  brief: 'Shows an endpoint',
  args,
  run: async ({ client }, { webhook: id }) => {
    const answer = await (await client()).webhooks.get(id);
    return { data: answer, text: webhookText(answer.webhook) };
  },
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

const rotate = command({
  brief: 'Begins to replace the signing secret, and shows the new one this once',
  args,
  run: async ({ client }, { webhook: id }) => {
    const answer = await (await client()).webhooks.rotate(id);
    return { data: answer, text: webhookText(answer.webhook) };
  },
});

const remove = command({
  brief: 'Deletes an endpoint',
  args,
  flags: { yes: toggle('Does not ask') },
  run: async ({ client }, { webhook: id, yes }) => {
    await confirm(`Delete the endpoint ${id} and its deliveries?`, yes);
    const answer = await (await client()).webhooks.delete(id);
    return { data: answer, text: `Deleted ${id}.` };
  },
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
      const rows = answer.deliveries.map((one) => [
        one.id,
        one.event_type,
        one.status,
        localTime(one.created_at),
        String(one.attempt_count),
        one.error ?? '',
      ]);
      const head = ['ID', 'EVENT', 'STATUS', `TIME (${ownZone()})`, 'ATTEMPTS', 'ERROR'];
      yield { data: answer, text: { head, rows } };
    }
  },
});

const replay = command({
  brief: 'Delivers failed and waiting events since a time again',
  examples: ['webhook replay ENDPOINT --since 2027-03-01T09:00Z'],
  args,
  flags: { since: required(text('A time with Z or an offset', 'TIME')) },
  run: async ({ client }, { webhook: id, since }) => {
    const answer = await (await client()).webhooks.replayFailed(id, { since });
    return { data: answer, text: `Replaying ${answer.replaying} deliveries.` };
  },
});

export const webhook = buildRouteMap({
  routes: { list, create, show, test, rotate, delete: remove, deliveries, replay },
  docs: { brief: 'Manages the endpoints that receive events' },
});
