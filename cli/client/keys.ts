import { buildRouteMap } from '@stricli/core';
import { scopes } from '../../domain/api-keys.ts';
import { given, required, someOf, text, texts, toggle } from '../flags.ts';
import { confirm } from '../input.ts';
import { tableOf } from '../table.ts';
import { chosenChannels } from './channels.ts';
import { apiCommand } from './api-command.ts';

const list = apiCommand({
  brief: 'Lists the API keys of the workspace',
  call: (client) => client.keys.list(),
  show: ({ keys }) =>
    tableOf(
      keys.map((one) => ({ ...one, status: hasExpired(one) ? 'expired' : 'active' })),
      ['id', 'name', 'last_four', 'status', 'last_used_at', 'expires_at', 'scopes'],
    ),
});

const hasExpired = ({ expires_at: end }: { readonly expires_at: string | null }): boolean =>
  end !== null && Date.parse(end) <= Date.now();

const create = apiCommand({
  brief: 'Makes an API key, and shows it this once',
  examples: ['key create --name Newsletter --scope posts:read --scope posts:write'],
  flags: {
    name: required(text('What it is for')),
    scope: required(someOf(scopes, 'A right of the key')),
    channel: texts('Limits it to this account: its id, handle or network', 'CHANNEL'),
    expires: text('When it ends, such as 2027-03-01T09:00Z', 'TIME'),
  },
  call: async (client, { name, scope, channel, expires }) => {
    const channels = channel && (await chosenChannels(client, channel));
    const more = given({ channel_ids: channels, expires_at: expires });
    return client.keys.create({ name, scopes: scope, ...more });
  },
  show: ({ key }) => `Id   ${key.id}\nKey  ${key.key} (shown only now)`,
});

const revoke = apiCommand({
  brief: 'Revokes an API key at once',
  args: { key: 'Id of the key' },
  flags: { yes: toggle('Does not ask') },
  call: async (client, { key: id, yes }) => {
    await confirm(`Revoke the key ${id}? Programs that use it are refused at once.`, yes);
    return client.keys.revoke(id);
  },
  show: ({ id }) => `Revoked ${id}.`,
});

export const key = buildRouteMap({
  routes: { list, create, revoke },
  docs: { brief: 'Manages the API keys of the workspace' },
});
