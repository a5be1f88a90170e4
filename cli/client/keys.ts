import { buildRouteMap } from '@stricli/core';
import { scopes } from '../../domain/api-keys.ts';
import { command } from '../command.ts';
import { given, required, someOf, text, texts, toggle } from '../flags.ts';
import { confirm } from '../input.ts';
import { facts, localTime } from '../table.ts';
import { chosenChannels } from './channels.ts';

const list = command({
  brief: 'Lists the API keys of the workspace',
  run: async ({ client }) => {
    const answer = await (await client()).keys.list();
    const rows = answer.keys.map((one) => [
      one.id,
      one.name ?? '',
      `…${one.last_four}`,
      localTime(one.last_used_at),
      localTime(one.expires_at),
      one.scopes.join(' '),
    ]);
    const head = ['ID', 'NAME', 'KEY', 'LAST USED', 'EXPIRES', 'SCOPES'];
    return { data: answer, text: { head, rows } };
  },
});

const create = command({
  brief: 'Makes an API key, and shows it this once',
  examples: ['key create --name Newsletter --scope posts:read --scope posts:write'],
  flags: {
    name: required(text('What it is for')),
    scope: required(someOf(scopes, 'A right of the key')),
    channel: texts('Limits it to this account: its id, handle or network', 'CHANNEL'),
    expires: text('When it ends, such as 2027-03-01T09:00Z', 'TIME'),
  },
  run: async ({ client: open }, { name, scope, channel, expires }) => {
    const client = await open();
    const channels = channel && (await chosenChannels(client, channel));
    const more = given({ channel_ids: channels, expires_at: expires });
    const answer = await client.keys.create({ name, scopes: scope, ...more });
    const { id, key } = answer.key;
    return {
      data: answer,
      text: facts([
        ['Id', id],
        ['Key', `${key} (shown only now)`],
      ]),
    };
  },
});

const revoke = command({
  brief: 'Revokes an API key at once',
  args: { key: 'Id of the key' },
  flags: { yes: toggle('Does not ask') },
  run: async ({ client }, { key: id, yes }) => {
    await confirm(`Revoke the key ${id}? Programs that use it are refused at once.`, yes);
    const answer = await (await client()).keys.revoke(id);
    return { data: answer, text: `Revoked ${id}.` };
  },
});

export const key = buildRouteMap({
  routes: { list, create, revoke },
  docs: { brief: 'Manages the API keys of the workspace' },
});
